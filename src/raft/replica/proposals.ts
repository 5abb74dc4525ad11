/**
 * The leader's part of a request's way: makes prepares of what waits and proposes them, many at a
 * time. What is proposed and not executed yet is known here by client, so that no request is in the
 * log twice through this replica.
 *
 * A group is what one step proposes: one write, one message to each of the others. While a few
 * groups are under way the requests that come gather for the next; large requests need no company.
 */
import {
  buildPrepare,
  OPERATION_MACHINE_MIN,
  OPERATION_PULSE,
  type Position,
  PULSE_INTERVAL_NS,
  prepareFromRequest,
} from '../../engine/index.ts';
import { assert, type U64, U64_ZERO, u64Add, u64Compare, u64Max } from '../../stdx/index.ts';
import {
  HEADER_SIZE,
  type Message,
  PrepareOffset,
  RequestOffset,
  readSize,
} from '../../wire/index.ts';
import type { Event } from '../event.ts';
import {
  GROUP_BYTES_MAX,
  GROUP_REQUESTS_MAX,
  GROUPS_MAX,
  LARGE_GROUPS_MAX,
  LARGE_REQUEST_SIZE,
} from './limits.ts';
import { viewOf } from './office.ts';
import type { ReplicaParts } from './parts.ts';

interface Proposal {
  readonly index: number;
  readonly data: Uint8Array;
}

type Propose = Event<Uint8Array> & { readonly type: 'propose' };

export class Proposals {
  readonly #parts: ReplicaParts;
  /** Proposed and not executed, by index. */
  #proposed: Proposal[] = [];
  /** Last index of each group that is not known to be committed. */
  #groups: number[] = [];
  #timestamp: U64 = U64_ZERO;
  /** Counts the proposals of a term, to name them. */
  #count: number = 0;
  /** A pulse is among the proposed. */
  #hasPulse: boolean = false;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  /** Operations under way. */
  get count(): number {
    return this.#proposed.length;
  }

  /** The prepares under way, borrowed. */
  *prepares(): Generator<Uint8Array, void, void> {
    for (const { data } of this.#proposed) yield data;
  }

  /** Begins to lead. */
  open(): void {
    assert(this.#proposed.length === 0, 'Proposals: opened twice');
    this.#timestamp = this.#parts.state.timestamp;
  }

  /** Leads no more: what becomes of the proposals, whoever leads next will see. */
  close(): void {
    this.#proposed = [];
    this.#groups = [];
    this.#hasPulse = false;
  }

  /** Time has passed: something may be due. */
  onPulse(): void {
    const { deadlines, outbox } = this.#parts;
    deadlines.set('pulse', outbox.now.monoNs + PULSE_INTERVAL_NS);
  }

  /** Whether there is something to propose, and room for it. */
  get isDue(): boolean {
    const { member, admission, core } = this.#parts;
    if (!member.isNormalPrimary || core.isReadOnly) return false;
    const waits = admission.queueLength > 0 || this.#isPulseDue();
    return waits && this.#hasRoom();
  }

  /** Proposes one group; the engine hears of nothing else in that step of its own. */
  propose(): void {
    assert(this.isDue, 'Proposals: nothing to propose');
    const { core, admission } = this.#parts;
    const { member, log } = core.inside;
    assert(member.isLeader, 'Proposals: does not lead');
    const first = log.end;
    const events: Propose[] = [];
    let bytes = 0;
    if (this.#isPulseDue()) {
      const data = this.#pulse();
      this.#add(events, first, data);
      this.#hasPulse = true;
    }
    while (events.length < GROUP_REQUESTS_MAX && bytes < GROUP_BYTES_MAX) {
      const request = admission.next();
      if (request === null) break;
      const data = this.#prepare(request);
      bytes += data.length;
      this.#add(events, first + events.length, data);
    }
    if (events.length === 0) return;
    this.#groups.push(first + events.length - 1);
    core.propose(events);
    assert(log.end === first + events.length, 'Proposals: not in the log');
  }

  /** The entry at `index` is executed, or did nothing. */
  onApplied(index: number): void {
    const first = this.#proposed[0];
    if (first === undefined || first.index > index) return;
    assert(first.index === index, 'Proposals: one was passed over');
    if (first.data[PrepareOffset.operation] === OPERATION_PULSE) this.#hasPulse = false;
    this.#proposed.shift();
  }

  invariants(): void {
    const { member, state, core } = this.#parts;
    if (!member.isNormalPrimary) {
      assert(this.#proposed.length === 0, 'Proposals: something under way without an office');
      return;
    }
    const { log } = core.inside;
    for (const { index, data } of this.#proposed) {
      const entry = log.at(index);
      assert(entry.kind === 'data' && entry.data === data, 'Proposals: not what is in the log');
      assert(index > state.commitMin, 'Proposals: executed and still under way');
    }
    assert(u64Compare(this.#timestamp, state.timestamp) >= 0, 'Proposals: timestamps go back');
  }

  #hasRoom(): boolean {
    const { core, admission } = this.#parts;
    const committed = core.inside.commits.index;
    while (this.#groups.length > 0 && this.#groups[0] <= committed) this.#groups.shift();
    if (this.#groups.length < GROUPS_MAX) return true;
    return admission.nextSize >= LARGE_REQUEST_SIZE && this.#groups.length < LARGE_GROUPS_MAX;
  }

  #isPulseDue(): boolean {
    const { state, outbox } = this.#parts;
    if (this.#hasPulse) return false;
    return state.machine.due(this.#next(outbox.now.wall, this.#pulseReserve()));
  }

  #pulseReserve(): number {
    return this.#parts.state.machine.reserve(OPERATION_PULSE, EMPTY);
  }

  #pulse(): Uint8Array {
    const { pool, outbox } = this.#parts;
    const data = new Uint8Array(HEADER_SIZE);
    const position = this.#position(this.#next(outbox.now.wall, this.#pulseReserve()));
    buildPrepare(data, OPERATION_PULSE, this.#author(), position, pool.checksum);
    return data;
  }

  /** The prepare of a request, in memory of its own; takes over the reference. */
  #prepare(request: Message): Uint8Array {
    const { pool, state, outbox } = this.#parts;
    const { bytes } = request;
    const size = readSize(bytes);
    const operation = bytes[RequestOffset.operation];
    const isEngine = operation < OPERATION_MACHINE_MIN;
    const body = bytes.subarray(HEADER_SIZE, size);
    const reserveNs = isEngine ? 0 : state.machine.reserve(operation, body);
    const position = this.#position(this.#next(outbox.now.wall, reserveNs));
    prepareFromRequest(bytes, this.#author(), position, pool.checksum);
    // The one copy: entries stay in the log when the slot is another's.
    const data = bytes.slice(0, size);
    pool.release(request);
    return data;
  }

  #add(events: Propose[], index: number, data: Uint8Array): void {
    this.#proposed.push({ index, data });
    this.#count++;
    const { term } = this.#parts.core.inside.member;
    // A term has one leader, so nobody else gives this name.
    const eid = `${term}.${this.#count}`;
    const size = data.length;
    const command = this.#count;
    events.push({ type: 'propose', command, data, size, eid, prerequisite: null });
  }

  /** Above everything given out so far, not below the clock, plus what is used up. */
  #next(wall: U64, reserveNs: number): U64 {
    assert(Number.isSafeInteger(reserveNs) && reserveNs >= 0, 'Proposals: bad reserve');
    return u64Add(u64Max(u64Add(this.#timestamp, 1), wall), reserveNs);
  }

  /** Its place will be known when it is committed; what was executed here goes with it. */
  #position(timestamp: U64): Position {
    const { state } = this.#parts;
    this.#timestamp = timestamp;
    const { digest, commitMin } = state;
    return { op: 0, parent: digest, checkpointId: ZERO, commit: commitMin, timestamp };
  }

  #author() {
    const { member, head, core } = this.#parts;
    const view = viewOf(core.inside.member.term, head.replica, head.replicaCount);
    return { ...member.authorToClients(), view };
  }
}

const EMPTY: Uint8Array = new Uint8Array(0);
const ZERO: Uint8Array = new Uint8Array(16);
