/**
 * Listens to everything that replicas say to each other, and reads their files while they say it.
 * A replica may promise only what it can still keep after a power cut at this very moment; that can
 * be seen from outside, without knowing how it decides anything:
 *
 * - no view is announced that its file does not hold, and none older than one before;
 * - who acknowledges a prepare has it, and has the log of that view;
 * - a vote is not behind what was acknowledged;
 * - one place in the log of a view has one prepare, and one committed place has one for ever;
 * - what is called committed lies in the files of a replication quorum;
 * - only the primary of a view speaks as such, and not in two lives.
 */
import { isZero, readSafeU64, toHex } from '../../stdx/index.ts';
import {
  type Checksum,
  Command,
  commandName,
  createChecksum,
  headerValid,
  PeerOffset,
  PrepareOffset,
  readCommand,
  readReplica,
  readView,
} from '../../wire/index.ts';
import { check } from '../world/failure.ts';
import type { World } from '../world/world.ts';
import type { ClusterAudit } from './cluster-audit.ts';
import type { History } from './history.ts';

/** It; something of a later op, so that it was there and is not needed any more; something else. */
export type Held = 'it' | 'later' | 'other';

/** What a file holds that a replica's promises rest on. */
export interface DurableState {
  readonly view: number;
  readonly logView: number;
}

export interface PeerAuditOptions {
  readonly replicaCount: number;
  /** How many files must hold what is committed. */
  readonly replicationQuorum: number;
  /** Reads the file of a replica. */
  readonly durable: (replica: number) => DurableState;
  /** What its log holds in the place of the prepare at `op`; its checksum: `bytes[offset, +16)`. */
  readonly held: (replica: number, op: number, bytes: Uint8Array, offset: number) => Held;
  /** Files may lose what was written to them. */
  readonly isRotting: boolean;
}

/** Engine operations that are no prepares of anybody. */
const OPERATION_RESERVED = 0;
const OPERATION_ROOT = 1;

interface Speaker {
  durable: DurableState;
  /** Highest view spoken in. */
  view: number;
  /** The highest acknowledged place, in order of view and op. */
  ackedView: number;
  ackedOp: number;
}

/** Commands with which a replica speaks of its own view. */
const ofOwnView: readonly number[] = [
  Command.ping,
  Command.pong,
  Command.prepareOk,
  Command.commit,
  Command.startViewChange,
  Command.doViewChange,
  Command.startView,
];

export class PeerAudit implements ClusterAudit {
  readonly #world: World;
  readonly #history: History;
  readonly #options: PeerAuditOptions;
  readonly #speakers: Speaker[];
  /** View → the life in which its primary spoke. */
  readonly #lives: Map<number, number> = new Map();
  /** View and op → checksum of the prepare that its primary made. */
  readonly #prepares: Map<string, string> = new Map();
  /** Op → checksum of what is committed there. */
  readonly #committed: Map<number, string> = new Map();
  #viewMax: number = 0;
  readonly #checksum: Checksum = createChecksum();

  constructor(world: World, history: History, options: PeerAuditOptions) {
    this.#world = world;
    this.#history = history;
    this.#options = options;
    this.#speakers = Array.from({ length: options.replicaCount }, fresh);
  }

  /** The file of a replica was lost and made anew: what it promised is others' now. */
  onReformat(replica: number): void {
    this.#speakers[replica] = fresh();
  }

  /** `bytes` is a sealed message that `replica` hands to the network, in its so-manieth life. */
  onSend(replica: number, life: number, _: number, bytes: Uint8Array): void {
    const command = readCommand(bytes);
    if (command === Command.prepare) {
      this.#onPrepare(replica, life, bytes);
      return;
    }
    if (!ofOwnView.includes(command)) return;
    const what = (): string => `r${replica} ${commandName(command)} of view ${readView(bytes)}`;
    check(readReplica(bytes) === replica, 'message-misuse', () => `${what()}: not its own name`);
    this.#checkView(replica, readView(bytes), what);
    switch (command) {
      case Command.prepareOk:
        this.#onPrepareOk(replica, bytes, what);
        return;
      case Command.commit:
        this.#checkPrimary(replica, life, readView(bytes), what);
        this.#onCommit(bytes, what);
        return;
      case Command.startView:
        this.#checkPrimary(replica, life, readView(bytes), what);
        this.#checkLogView(replica, readView(bytes), what);
        return;
      case Command.doViewChange:
        this.#onVote(replica, bytes, what);
        return;
      default:
        return;
    }
  }

  /**
   * `bytes` is what `replica` asks its disk to write. A prepare that it makes begins to exist here,
   * even if nobody is there to be told.
   */
  onWrite(replica: number, life: number, bytes: Uint8Array): void {
    if (readCommand(bytes) !== Command.prepare || readReplica(bytes) !== replica) return;
    if (!headerValid(bytes, this.#checksum)) return;
    const operation = bytes[PrepareOffset.operation];
    if (operation === OPERATION_RESERVED || operation === OPERATION_ROOT) return;
    this.#onPrepare(replica, life, bytes);
  }

  #onPrepare(replica: number, life: number, bytes: Uint8Array): void {
    const view = readView(bytes);
    const author = readReplica(bytes);
    const op = number(bytes, PrepareOffset.op);
    const checksum = toHex(bytes.subarray(0, 16));
    const what = (): string => `r${replica} prepare ${op} of view ${view}`;
    const isRoot = op === 0;
    const isPrimarys = isRoot || author === view % this.#options.replicaCount;
    check(isPrimarys, 'fork', () => `${what()}: written by r${author}`);
    const place = `${view} ${op}`;
    const known = this.#prepares.get(place);
    if (known === undefined && !isRoot) {
      this.#prepares.set(place, checksum);
      // New, so it is made now, by whoever sends it first.
      check(author === replica, 'fork', () => `${what()}: r${author} never sent it`);
      this.#checkView(replica, view, what);
      this.#checkPrimary(replica, life, view, what);
    }
    check(known === undefined || known === checksum, 'fork', () => {
      return `${what()}: is ${checksum}, another was ${known}`;
    });
  }

  #onPrepareOk(replica: number, bytes: Uint8Array, what: () => string): void {
    this.#world.coverage.add('acks');
    const view = readView(bytes);
    const op = number(bytes, PeerOffset.op);
    this.#checkLogView(replica, view, what);
    const isHeld = this.#options.held(replica, op, bytes, PeerOffset.checksum) === 'it';
    check(isHeld || this.#options.isRotting, 'not-durable', () => {
      return `${what()}: op ${op} is not in its file`;
    });
    const speaker = this.#speakers[replica] as Speaker;
    if (view > speaker.ackedView || (view === speaker.ackedView && op > speaker.ackedOp)) {
      speaker.ackedView = view;
      speaker.ackedOp = op;
    }
    this.#checkDigest(bytes);
  }

  #onVote(replica: number, bytes: Uint8Array, what: () => string): void {
    const speaker = this.#speakers[replica] as Speaker;
    const logView = number(bytes, PeerOffset.logView);
    const op = number(bytes, PeerOffset.op);
    this.#checkLogView(replica, logView, what);
    const { ackedView, ackedOp } = speaker;
    const isBehind = logView < ackedView || (logView === ackedView && op < ackedOp);
    check(!isBehind, 'lost-operation', () => {
      return `${what()}: log is ${logView}/${op}, acknowledged was ${ackedView}/${ackedOp}`;
    });
  }

  #onCommit(bytes: Uint8Array, what: () => string): void {
    this.#checkDigest(bytes);
    const op = number(bytes, PeerOffset.commitMax);
    // Known to be committed, without its header.
    if (isZero(bytes, PeerOffset.checksum, 16)) return;
    const checksum = toHex(bytes.subarray(PeerOffset.checksum, PeerOffset.checksum + 16));
    const known = this.#committed.get(op);
    check(known === undefined || known === checksum, 'fork', () => {
      return `${what()}: committed ${checksum} at op ${op}, before it was ${known}`;
    });
    if (known !== undefined) return;
    this.#committed.set(op, checksum);
    if (op > 0 && !this.#options.isRotting) this.#checkQuorum(op, bytes, what);
  }

  /** A power cut everywhere, now, must leave it in enough files. */
  #checkQuorum(op: number, bytes: Uint8Array, what: () => string): void {
    const { replicaCount, replicationQuorum, held } = this.#options;
    let count = 0;
    for (let replica = 0; replica < replicaCount; replica++) {
      // It may have been committed long ago, and be called so again by one who was asleep.
      if (held(replica, op, bytes, PeerOffset.checksum) !== 'other') count++;
    }
    check(count >= replicationQuorum, 'not-durable', () => {
      return `${what()}: op ${op} is committed, and in ${count} files`;
    });
  }

  #checkDigest(bytes: Uint8Array): void {
    const op = number(bytes, PeerOffset.commitMin);
    const digest = bytes.subarray(PeerOffset.digest, PeerOffset.digest + 16);
    this.#history.checkDigest(op, toHex(digest));
  }

  #checkView(replica: number, view: number, what: () => string): void {
    const speaker = this.#speakers[replica] as Speaker;
    check(view >= speaker.view, 'view', () => `${what()}: it was in view ${speaker.view}`);
    if (view > speaker.durable.view) this.#refresh(replica);
    const { durable } = speaker;
    check(view <= durable.view, 'view', () => `${what()}: its file is at view ${durable.view}`);
    speaker.view = view;
    if (view <= this.#viewMax) return;
    this.#viewMax = view;
    this.#world.coverage.add('viewsSeen');
  }

  #checkLogView(replica: number, logView: number, what: () => string): void {
    const speaker = this.#speakers[replica] as Speaker;
    if (logView !== speaker.durable.logView) this.#refresh(replica);
    const { durable } = speaker;
    check(logView === durable.logView, 'view', () => {
      return `${what()}: its file has the log of view ${durable.logView}`;
    });
  }

  #checkPrimary(replica: number, life: number, view: number, what: () => string): void {
    const { replicaCount } = this.#options;
    check(replica === view % replicaCount, 'view', () => `${what()}: is not the primary`);
    const before = this.#lives.get(view);
    if (before === undefined) this.#lives.set(view, life);
    check(before === undefined || before === life, 'view', () => {
      return `${what()}: was primary of it in life ${before}, and is again in life ${life}`;
    });
  }

  #refresh(replica: number): void {
    this.#world.coverage.add('durableStatesRead');
    (this.#speakers[replica] as Speaker).durable = this.#options.durable(replica);
  }
}

function fresh(): Speaker {
  return { durable: { view: 0, logView: 0 }, view: 0, ackedView: 0, ackedOp: 0 };
}

function number(bytes: Uint8Array, offset: number): number {
  const value = readSafeU64(bytes, offset);
  check(value !== null, 'message-misuse', () => `field at ${offset} is not a number`);
  return value;
}
