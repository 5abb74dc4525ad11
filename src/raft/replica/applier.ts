/**
 * Execution: what Raft delivers is applied in order, a bit at a time, whatever the role. It has
 * steps of its own, asked for with the commit timer, so that writes and messages leave first.
 *
 * At open it first puts the state of the snapshot back, block by block.
 */
import { BLOCK_KIND_ENGINE_MIN, type Block, CLIENTS_MAX } from '../../engine/index.ts';
import { assert, bytesEqual, isZero } from '../../stdx/index.ts';
import { PrepareOffset } from '../../wire/index.ts';
import type { Entry, Snapshot } from '../entry.ts';
import {
  APPLY_BYTES_MAX,
  APPLY_BYTES_MIN,
  BACKLOG_BYTES_MAX,
  ENTRY_BYTES_MIN,
  RESTORE_BYTES_MAX,
} from './limits.ts';
import type { ReplicaParts } from './parts.ts';
import { readSnapshotData, type SnapshotData, type StoredBlock } from './snapshot-data.ts';

type Bytes = Uint8Array;

/** Where machines may read words. */
const ALIGNMENT = 16;

export class Applier {
  readonly #parts: ReplicaParts;
  /** Delivered and not executed, from `#next` on. */
  #queue: Entry<Bytes>[] = [];
  #next: number = 0;
  /** Bytes of those. */
  #bytes: number = 0;
  #restoring: SnapshotData | null = null;
  #blocksRestored: number = 0;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  /** All that was delivered is executed. */
  get isIdle(): boolean {
    return this.#restoring === null && this.#next === this.#queue.length;
  }

  /** So much waits that no more should come. */
  get isFull(): boolean {
    return this.#bytes > BACKLOG_BYTES_MAX;
  }

  /** The state to begin with; the first that is delivered, into a replica that knows nothing. */
  onSnapshot(snapshot: Snapshot<Bytes>): void {
    const { state, snapshots } = this.#parts;
    assert(state.commitMin === 0 && this.isIdle, 'Applier: a snapshot comes first');
    if (snapshot.data === null || snapshot.data.length === 0) {
      state.pass(snapshot.index);
      snapshots.open(null, snapshot.index, 0);
      return;
    }
    const data = readSnapshotData(snapshot.data);
    if (data === null || data.op !== snapshot.index) {
      this.#corrupt('the snapshot is malformed');
      return;
    }
    this.#restoring = data;
    snapshots.open(data, snapshot.index, snapshot.data.length);
  }

  onEntry(entry: Entry<Bytes>): void {
    this.#queue.push(entry);
    this.#bytes += sizeOf(entry);
  }

  /** A snapshot from elsewhere takes the place of all this. */
  forget(): void {
    this.#queue = [];
    this.#next = 0;
    this.#bytes = 0;
  }

  /** Whether there is more to do that could be done at once. */
  get canGoOn(): boolean {
    return !this.isIdle && this.#parts.pool.available('reply') > 0;
  }

  /** Goes on, as far as a step should. */
  advance(): void {
    if (this.#restoring !== null) this.#restore(this.#restoring);
    else if (!this.isIdle) this.#applySome();
  }

  #applySome(): void {
    const { core, state, outbox, pool } = this.#parts;
    let left = APPLY_BYTES_MAX;
    while (left > 0 && this.#next < this.#queue.length) {
      // Replies that are still on their way to slow clients hold slots; they come back.
      if (pool.available('reply') === 0) break;
      const entry = this.#queue[this.#next];
      this.#next++;
      this.#bytes -= sizeOf(entry);
      left -= Math.max(APPLY_BYTES_MIN, sizeOf(entry));
      this.#apply(entry);
      if (outbox.halted) return;
    }
    if (this.#next === this.#queue.length) this.forget();
    core.push({ type: 'applied', index: state.commitMin });
  }

  #apply(entry: Entry<Bytes>): void {
    const { state, primary, snapshots, outbox } = this.#parts;
    const { index } = entry;
    assert(index === state.commitMin + 1, 'Applier: order');
    if (entry.kind !== 'data') {
      state.pass(index);
      snapshots.onApplied(ENTRY_BYTES_MIN);
      return;
    }
    const { data } = entry;
    if (!state.agrees(data)) {
      outbox.halt('diverged', `before operation ${index} the state differs from the leader's`);
      return;
    }
    if (state.isNext(data)) this.#execute(index, data);
    else {
      outbox.trace('debug', 'request-known', { op: index });
      state.pass(index);
    }
    primary.onApplied(index);
    // After that: its client's next request may have waited for it, and is admitted here.
    const isClients = !isZero(data, PrepareOffset.client, 16);
    if (isClients) this.#parts.heldRequests.onCommitted(data);
    snapshots.onApplied(ENTRY_BYTES_MIN + data.length);
  }

  #execute(index: number, data: Bytes): void {
    const { pool, state, admission, heldRequests, member, outbox } = this.#parts;
    const reply = pool.acquire('reply');
    assert(reply !== null, 'Applier: no slot for the reply');
    const change = state.apply(index, data, reply);
    if (change === 'registered-evicting') {
      outbox.trace('warn', 'session-evicted', { sessionsMax: CLIENTS_MAX });
    }
    const isClients = !isZero(data, PrepareOffset.client, 16);
    if (isClients && (member.isNormalPrimary || heldRequests.answers(data))) {
      admission.sendReply(reply, data, PrepareOffset.client);
    } else pool.release(reply);
  }

  #restore(data: SnapshotData): void {
    const { state, snapshots } = this.#parts;
    let left = RESTORE_BYTES_MAX;
    while (left > 0 && this.#blocksRestored < data.blocks.length) {
      const block = data.blocks[this.#blocksRestored];
      this.#blocksRestored++;
      left -= Math.max(block.bytes.length, APPLY_BYTES_MIN);
      if (!this.#isIntact(block)) {
        this.#corrupt(`block ${block.kind}/${block.index} of the snapshot is damaged`);
        return;
      }
      const { kind } = block;
      if (kind < BLOCK_KIND_ENGINE_MIN) state.machine.restore(aligned(block));
      else snapshots.sessionBlocks.restore(block);
    }
    if (this.#blocksRestored < data.blocks.length) return;
    state.machine.restored();
    snapshots.sessionBlocks.restored();
    state.restore(data);
    this.#restoring = null;
  }

  #isIntact(block: StoredBlock): boolean {
    const { checksum } = this.#parts.pool;
    const { bytes } = block;
    checksum.digest(bytes, 0, bytes.length, computed, 0);
    return bytesEqual(computed, 0, block.checksum, 0, 16);
  }

  #corrupt(reason: string): void {
    this.#parts.outbox.halt('storage-corrupt', reason);
  }
}

function sizeOf(entry: Entry<Bytes>): number {
  return entry.kind === 'data' ? entry.data.length : 0;
}

const computed = new Uint8Array(16);

/** Copied only if a machine could not read words of it. */
function aligned(block: StoredBlock): Block {
  const isAligned = block.bytes.byteOffset % ALIGNMENT === 0;
  return isAligned ? block : { ...block, bytes: block.bytes.slice() };
}
