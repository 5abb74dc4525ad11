/**
 * Raft itself inside a replica: collects what a step brings, lets Raft have it all at once, and
 * carries out what it asks for: on the file, to the other replicas, for execution.
 */
import type { StorageError } from '../../engine/index.ts';
import { assert, unreachable } from '../../stdx/index.ts';
import type { Effect } from '../effect.ts';
import type { FileHeader, LogRecord, ServerId } from '../entry.ts';
import type { Event } from '../event.ts';
import { recover } from '../log/recovery.ts';
import type { Policy } from '../options.ts';
import type { Parts } from '../parts.ts';
import { Raft } from '../raft.ts';
import { DISK_FULL_RETRY_NS, NS_PER_MS } from './limits.ts';
import type { ReplicaParts } from './parts.ts';

type Bytes = Uint8Array;

export interface CoreOptions {
  readonly policy: Policy;
  readonly seed: number;
  readonly onParts: ((parts: Parts<Bytes>) => void) | null;
}

export class Core {
  readonly #parts: ReplicaParts;
  readonly #options: CoreOptions;
  #raft: Raft<Bytes> | null = null;
  #inside: Parts<Bytes> | null = null;
  #events: Event<Bytes>[] = [];
  /** What was delivered with `open` has gone to execution. */
  #isOpened: boolean = false;
  /** The write by which the file was replaced last. */
  #replaceSeq: number = 0;
  /** A snapshot from elsewhere goes into the file: with this write the next life may begin. */
  #restartSeq: number = 0;
  #isRestartDue: boolean = false;
  #isReadOnly: boolean = false;

  constructor(parts: ReplicaParts, options: CoreOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** The file is read, and Raft runs. */
  get isOpen(): boolean {
    return this.#isOpened;
  }

  /** Raft's own parts; after it was opened. */
  get inside(): Parts<Bytes> {
    assert(this.#inside !== null, 'Core: not open');
    return this.#inside;
  }

  /** Who leads, as far as known. */
  get leader(): ServerId | null {
    return this.#inside?.member.leader ?? null;
  }

  /** Something has come that Raft has not heard of. */
  get hasEvents(): boolean {
    return this.#raft !== null && this.#events.length > 0;
  }

  /** A snapshot from elsewhere is on its way to the file: nothing is executed any more. */
  get isInstalling(): boolean {
    return this.#restartSeq > 0;
  }

  /** The disk is full. */
  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  /** What the file holds. */
  open(header: FileHeader<Bytes>, records: readonly LogRecord<Bytes>[]): void {
    const { head, outbox } = this.#parts;
    const { policy, seed, onParts } = this.#options;
    assert(this.#raft === null, 'Core: opened twice');
    const self = String(head.replica);
    const { electionTimerMs } = policy;
    const recovered = recover({ self, header, records, electionTimerMs });
    if (!recovered.ok || recovered.state.remotes !== null) {
      const problem = recovered.ok ? 'not-in-cluster' : recovered.problem;
      outbox.halt('storage-corrupt', `the log of the data file is wrong: ${problem}`);
      return;
    }
    const address = recovered.state.snapshot.servers.get(self) ?? self;
    this.#raft = new Raft<Bytes>({
      id: self,
      address,
      seed,
      policy,
      onParts: (inside) => {
        this.#inside = inside;
        onParts?.(inside);
      },
    });
    this.#events.unshift({ type: 'open', state: recovered.state });
    this.run();
    this.#isOpened = true;
  }

  /** Raft will hear of it before the step ends. */
  push(event: Event<Bytes>): void {
    this.#events.push(event);
  }

  /** Hands over what has come; to be called until nothing more comes. */
  run(): void {
    if (this.#raft === null || this.#parts.outbox.halted) return;
    while (this.#events.length > 0) {
      const events = this.#events;
      this.#events = [];
      this.#carryOut(this.#raft.stepAll(events, this.#nowMs));
    }
    if (this.#isRestartDue && !this.#parts.outbox.halted) this.#restart();
  }

  /** A group of proposals, and nothing else. */
  propose(events: readonly Event<Bytes>[]): void {
    assert(this.#raft !== null && this.#events.length === 0, 'Core: something comes before');
    this.#carryOut(this.#raft.stepAll(events, this.#nowMs));
  }

  onDeadline(): void {
    this.push({ type: 'tick' });
  }

  onSynced(seq: number): void {
    const { outbox } = this.#parts;
    this.push({ type: 'synced', seq });
    if (this.#restartSeq > 0 && seq >= this.#restartSeq) this.#isRestartDue = true;
    if (!this.#isReadOnly) return;
    this.#isReadOnly = false;
    outbox.trace('info', 'disk-has-room', {});
  }

  /** What failed once may not be trusted again; a full disk may have room later. */
  onFailed(error: StorageError): void {
    const { outbox, deadlines } = this.#parts;
    if (outbox.halted) return;
    if (error === 'io') {
      outbox.halt('storage-failed', 'writing the data file failed: input/output error');
      return;
    }
    if (!this.#isReadOnly) outbox.trace('error', 'disk-full', {});
    this.#isReadOnly = true;
    // Others may have room; at most once for each try.
    if (this.#inside?.member.isLeader === true) {
      const reason = 'disk full';
      this.push({ type: 'transfer', command: 0, target: null, reason });
    }
    deadlines.set('disk-full', outbox.now.monoNs + DISK_FULL_RETRY_NS);
  }

  invariants(): void {
    this.#raft?.invariants();
    assert(this.#raft === null || this.#events.length === 0, 'Core: something was left over');
  }

  get #nowMs(): number {
    return Math.floor(this.#parts.outbox.now.monoNs / NS_PER_MS);
  }

  #carryOut(effects: readonly Effect<Bytes>[]): void {
    for (const effect of effects) {
      if (this.#parts.outbox.halted) return;
      this.#carryOutOne(effect);
    }
  }

  #carryOutOne(effect: Effect<Bytes>): void {
    const { file, applier, outbox, deadlines, snapshots } = this.#parts;
    switch (effect.type) {
      case 'append':
        this.#onAppend(effect.seq, effect.records);
        break;
      case 'request-sync':
        file.requestSync(effect.seq);
        break;
      case 'replace-file':
        this.#replaceSeq = effect.seq;
        file.replaceFile(effect.seq, effect.header, effect.records, effect.isContinuation);
        break;
      case 'send':
        this.#send(effect);
        break;
      case 'deliver':
        if (!this.isInstalling) applier.onEntry(effect.entry);
        break;
      case 'deliver-snapshot':
        if (this.#isOpened) this.#install();
        else applier.onSnapshot(effect.snapshot);
        break;
      case 'want-snapshot':
        snapshots.want();
        break;
      case 'set-timer':
        deadlines.set('raft', effect.deadlineMs * NS_PER_MS);
        break;
      case 'trace':
        outbox.trace(effect.level, effect.event, effect.fields);
        break;
      case 'connect':
      case 'disconnect':
      case 'complete':
      case 'read-ready':
      case 'status-changed':
        // Links are the driver's; clients are answered when their requests are executed.
        break;
      default:
        unreachable(effect);
    }
  }

  #onAppend(seq: number, records: readonly LogRecord<Bytes>[]): void {
    const { file, heldRequests } = this.#parts;
    file.append(seq, records);
    if (heldRequests.count === 0) return;
    for (const record of records) {
      if (record.type !== 'entry' || record.entry.kind !== 'data') continue;
      heldRequests.onPrepared(record.entry.data);
    }
  }

  #send({ peer, message }: Effect<Bytes> & { readonly type: 'send' }): void {
    const { peers, dialect } = this.#parts;
    assert(peer !== null, 'Core: members know each other');
    const replica = Number(peer);
    if (peers.isUp(replica)) dialect.send(replica, message);
  }

  /** The state here is of no use any more; the file's will be, in the next life. */
  #install(): void {
    this.#restartSeq = this.#replaceSeq;
    assert(this.#restartSeq > 0, 'Core: a snapshot that is not in the file');
    this.#parts.applier.forget();
  }

  #restart(): void {
    const { outbox } = this.#parts;
    outbox.trace('info', 'restart', { reason: 'snapshot-installed' });
    outbox.restart();
  }
}
