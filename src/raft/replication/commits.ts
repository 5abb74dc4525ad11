/**
 * How far the log is committed, handed to the machine, and applied by it. Each moves forwards only.
 * An entry is committed when a majority has it durably and it is of the current term; older ones
 * are committed with it, never by being counted.
 */
import { assert } from '../../stdx/index.ts';
import type { Entry, Snapshot } from '../entry.ts';
import { quorumIndex } from '../leadership/quorum.ts';
import type { Parts } from '../parts.ts';

export class Commits<T> {
  readonly #parts: Parts<T>;
  #index: number = 0;
  #delivered: number = 0;
  #applied: number = 0;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  get index(): number {
    return this.#index;
  }

  /** The machine has applied everything up to here. */
  get applied(): number {
    return this.#applied;
  }

  open(commitIndex: number): void {
    this.#index = commitIndex;
    this.deliver();
  }

  /** Whenever some server may have more than before, as far as this one is told of it. */
  advance(): void {
    const { member, leader, ackCopies, log, outbox } = this.#parts;
    const matches = member.isLeader ? leader.matches() : ackCopies.matches();
    if (matches.length === 0 || member.isJoining) return;
    // A follower may hear of more than it has.
    const index = Math.min(quorumIndex(matches), log.last);
    if (index <= this.#index || !this.mayCommit(index)) return;
    if (!member.isLeader) outbox.trace('debug', 'commit-by-copies', { index });
    this.#commitTo(index);
  }

  /** Only what this term has made is committed by counting. */
  mayCommit(index: number): boolean {
    const { log, member } = this.#parts;
    return log.has(index) && log.termAt(index) === member.term;
  }

  /** On a follower: what the leader says, as far as the logs are known to agree. */
  follow(index: number): void {
    if (index > this.#index) this.#commitTo(index);
  }

  /** The state of a whole cluster came as a snapshot. */
  onInstalled(snapshot: Snapshot<T>): void {
    assert(snapshot.index > this.#index, 'Commits: a snapshot of the past');
    this.#index = snapshot.index;
    this.deliver();
  }

  /** Hands on what is committed, in order and once; nothing while joining. */
  deliver(): void {
    const { log, member, outbox } = this.#parts;
    if (member.isJoining || member.isStopped) return;
    if (this.#delivered < log.snapshot.index) {
      outbox.emit({ type: 'deliver-snapshot', snapshot: log.snapshot });
      this.#delivered = log.snapshot.index;
    }
    while (this.#delivered < this.#index) {
      this.#delivered++;
      outbox.emit({ type: 'deliver', entry: log.at(this.#delivered) });
    }
  }

  onApplied(index: number): void {
    assert(index <= this.#delivered, 'Commits: applied what was never delivered');
    if (index <= this.#applied) return;
    this.#applied = index;
    this.#parts.commands.onApplied(index);
    this.#parts.reads.onApplied();
  }

  invariants(): void {
    const { log } = this.#parts;
    assert(this.#index <= log.last, 'Commits: beyond the log');
    assert(this.#index >= log.snapshot.index, 'Commits: the snapshot is not committed');
    assert(this.#delivered <= this.#index, 'Commits: delivered what is not committed');
  }

  #commitTo(index: number): void {
    const { log, storage, member } = this.#parts;
    assert(index > this.#index && index <= log.last, 'Commits: not ahead of the commit index');
    const from = this.#index + 1;
    this.#index = index;
    this.deliver();
    for (let i = from; i <= index && !member.isStopped; i++) this.#onCommitted(log.at(i));
    if (!member.isStopped) storage.note({ type: 'commit', index });
  }

  #onCommitted(entry: Entry<T>): void {
    const { commands, electionTimer, changes, joining, member, outbox, log } = this.#parts;
    commands.onCommitted(entry.index, entry.kind === 'data' ? entry.eid : null);
    if (entry.kind === 'timer') electionTimer.onCommitted(entry.electionTimerMs);
    if (entry.kind !== 'config') return;
    outbox.trace('info', 'configuration', { index: entry.index, servers: entry.servers.size });
    if (member.isJoining && entry.servers.has(member.id)) joining.complete();
    if (member.isLeader) changes.onConfigCommitted(entry.servers);
    else if (!entry.servers.has(member.id) && log.serversAt(entry.index - 1).has(member.id)) {
      joining.onRemoved();
    }
  }
}
