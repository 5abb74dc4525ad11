/**
 * One simulated server: engine, disk, and a machine that lists the names of the commands it has
 * applied. It carries out what stays inside (disk, machine) and hands the rest to its world.
 */
import assert from 'node:assert/strict';
import type { Prng } from '../stdx/index.ts';
import { Disk } from './disk-test-helper.ts';
import type { Effect } from './effect.ts';
import type { Entry, FileHeader, ServerId, Snapshot } from './entry.ts';
import type { Event } from './event.ts';
import { recover } from './log/recovery.ts';
import type { Policy } from './options.ts';
import type { Parts } from './parts.ts';
import { Raft } from './raft.ts';

/** Of a command: its name. Of a snapshot: the names of all commands in it. */
export type Payload = readonly string[];

export const addressOf = (id: ServerId): string => `tcp:${id}:1`;
export const idOf = (address: string): ServerId => address.split(':')[1];

/** A server alone in its cluster, with a first snapshot. */
export function firstHeader(
  servers: readonly ServerId[],
  electionTimerMs: number,
): FileHeader<Payload> {
  const snapshot = {
    index: 1,
    term: 1,
    eid: null,
    servers: new Map(servers.map((id) => [id, addressOf(id)])),
    electionTimerMs,
    data: [],
    size: 0,
  };
  return { type: 'snapshot', snapshot };
}

export interface NodeOptions {
  readonly id: ServerId;
  readonly header: FileHeader<Payload>;
  readonly policy: Policy;
  readonly onParts?: ((parts: Parts<Payload>) => void) | undefined;
}

export class Node {
  readonly id: ServerId;
  readonly disk: Disk<Payload>;
  readonly #options: NodeOptions;
  /** Null: not running. */
  raft: Raft<Payload> | null = null;
  parts: Parts<Payload> | null = null;
  /** Counts lives, so that what was meant for an earlier one can be told apart. */
  life: number = 0;
  /** What has come while the process stands still; null: it does not. */
  backlog: Event<Payload>[] | null = null;
  applied: string[] = [];
  appliedIndex: number = 0;
  /** Delivered and not yet reported as applied. */
  isApplyDue: boolean = false;

  constructor(options: NodeOptions) {
    this.id = options.id;
    this.#options = options;
    this.disk = new Disk(options.header);
  }

  get isUp(): boolean {
    return this.raft !== null;
  }

  get engine(): Raft<Payload> {
    assert(this.raft !== null, `${this.id} is down`);
    return this.raft;
  }

  get inside(): Parts<Payload> {
    assert(this.parts !== null, `${this.id} is down`);
    return this.parts;
  }

  /** Reads the file and begins a life; null: the file says that there is none to begin. */
  start(seed: number, nowMs: number): readonly Effect<Payload>[] | null {
    const { policy, onParts } = this.#options;
    const { header, records } = this.disk.content();
    const { electionTimerMs } = policy;
    const recovered = recover({ self: this.id, header, records, electionTimerMs });
    if (!recovered.ok) {
      assert(['left-cluster', 'not-in-cluster'].includes(recovered.problem), recovered.problem);
      return null;
    }
    this.life++;
    this.backlog = null;
    this.applied = [];
    this.appliedIndex = 0;
    this.isApplyDue = false;
    this.raft = new Raft<Payload>({
      id: this.id,
      address: addressOf(this.id),
      seed,
      policy,
      onParts: (parts) => {
        this.parts = parts;
        onParts?.(parts);
      },
    });
    return this.step({ type: 'open', state: recovered.state }, nowMs);
  }

  step(event: Event<Payload>, nowMs: number): readonly Effect<Payload>[] {
    const effects = this.engine.step(event, nowMs);
    this.engine.invariants();
    return effects;
  }

  crash(prng: Prng): void {
    this.disk.crash(prng);
    this.raft = null;
    this.parts = null;
  }

  deliver(entry: Entry<Payload>): void {
    assert.equal(entry.index, this.appliedIndex + 1, `${this.id}: delivered with a gap`);
    this.appliedIndex = entry.index;
    this.isApplyDue = true;
    if (entry.kind === 'data') this.applied.push(...entry.data);
  }

  restore(snapshot: Snapshot<Payload>): void {
    assert(snapshot.index > this.appliedIndex, `${this.id}: taken back by a snapshot`);
    this.appliedIndex = snapshot.index;
    this.isApplyDue = true;
    this.applied = [...(snapshot.data ?? [])];
  }
}
