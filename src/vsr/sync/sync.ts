/**
 * Catching up by a checkpoint: what a replica does that lags so far that the others have
 * overwritten the operations it lacks. It stops executing, copies the last checkpoint of another
 * replica into its own file, block by block and each verified by its checksum, asks the primary
 * once more what the log of its view is, makes both durable in one write of the superblock, and
 * begins a new life from there. Until that write it is what it was; recovery verifies the whole by
 * its root.
 */
import { BLOCK_SIZE_MAX, type StorageError } from '../../engine/index.ts';
import { assert, bytesEqual } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, type Message, PeerOffset, readSize } from '../../wire/index.ts';
import { fixedSize, prepareMax, sectorCeil } from '../file/geometry.ts';
import type { ChunkReference } from '../file/superblock-codec.ts';
import { opOf } from '../log/log.ts';
import { Part } from '../outbox.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, peerBits, peerNumber, peersOf } from '../peer-message.ts';
import { SYNC_RETRY_MAX_NS, SYNC_RETRY_NS, SYNC_STUCK_NS } from '../timing/intervals.ts';
import { decodeCheckpoint } from './checkpoint-message.ts';
import { CheckpointServer, Wanted } from './checkpoint-server.ts';
import { Copy, type Item } from './copy.ts';

/** Blocks asked for and not here yet; and blocks being written. */
const REQUESTS_MAX = 4;
const WRITES_MAX = 4;
/** Patience, in times that an answer usually takes. */
const ANSWERS = 4;
/** Rounds without a word after which another replica is asked. */
const SILENCES_MAX = 2;

type Phase = 'idle' | 'fetch' | 'flush-blocks' | 'manifest' | 'flush-manifest' | 'ask' | 'install';

/** A log as a StartView describes it. */
export interface ToldLog {
  readonly view: number;
  readonly commitMax: number;
  readonly headers: readonly Uint8Array[];
  /** Of the primary's last checkpoint. */
  readonly checkpointOp: number;
}

export class Sync {
  readonly #parts: Parts;
  readonly #server: CheckpointServer;
  #phase: Phase = 'idle';
  #source: number = -1;
  #copy: Copy | null = null;
  /** What is missing, and what of it is on its way, by its place at the source. */
  #items: Item[] = [];
  readonly #asked: Map<number, Item> = new Map();
  /** Of those, the ones that were under way already when patience ended the last time. */
  readonly #late: Set<number> = new Set();
  /** When each of those was asked for, if only once; 0: more often, so that nothing is learned. */
  readonly #askedNs: Map<number, number> = new Map();
  /** How long after having been asked for a block comes from this source; 0: not known. */
  #answerNs: number = 0;
  /** How often in a row patience has ended without anything having come. */
  #silences: number = 0;
  readonly #writes: Map<number, Message> = new Map();
  #pieces: { readonly chunk: ChunkReference; readonly bytes: Uint8Array }[] = [];
  #chunks: ChunkReference[] = [];
  #hasProgress: boolean = false;
  /** How long nothing may come before it is asked for again. */
  #patienceNs: number = SYNC_RETRY_NS;
  /** A block could not be written: the copy is worth nothing. */
  #hasFailed: boolean = false;
  /** Begun although the log could be repaired, because nobody seems to have what is missing. */
  #isForced: boolean = false;
  /** Since when nothing more is executed, and after which operation; −1: nothing is waited for. */
  #waitsAt: number = -1;
  #waitsSinceNs: number = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#server = new CheckpointServer(parts);
  }

  /** While this holds nothing is executed and no checkpoint is made. */
  get isActive(): boolean {
    return this.#phase !== 'idle';
  }

  /** Waits for the primary to tell once more what its log is. */
  get isAsking(): boolean {
    return this.#phase === 'ask';
  }

  /** The superblock is about to name the copy: nothing else may change it. */
  get isInstalling(): boolean {
    return this.#phase === 'install';
  }

  /** More is committed, and for long nothing could be executed: perhaps nobody has it any more. */
  get isStuck(): boolean {
    if (this.#waitsAt < 0) return false;
    return this.#parts.outbox.now.monoNs >= this.#waitsSinceNs + SYNC_STUCK_NS;
  }

  /** At the end of every step. */
  watch(): void {
    const { state, commits, checkpoints, outbox, member, peers } = this.#parts;
    const isLed = member.isNormalBackup && peers.isUp(member.primary);
    const isBehind = state.commitMin < commits.commitMax && checkpoints.mayCommit;
    const waits = isLed && isBehind && !this.isActive;
    const at = waits ? state.commitMin : -1;
    if (at === this.#waitsAt) return;
    this.#waitsAt = at;
    this.#waitsSinceNs = outbox.now.monoNs;
  }

  /**
   * The primary tells of its log, of which operations from `opLow` on can be had. Returns whether
   * only a checkpoint can help, which is then being copied.
   */
  considers(from: number, opLow: number, told: ToldLog): boolean {
    const { state, geometry, outbox, checkpoints } = this.#parts;
    const isHelped = this.isStuck && told.checkpointOp > state.commitMin;
    const isOutOfReach = isHelped || opLow > state.commitMin + 1;
    if (this.#phase === 'install') return true;
    if (this.#phase === 'ask') {
      this.#install(told);
      return true;
    }
    if (!isOutOfReach) {
      // Later than that the copy is nearly done, and above what is executed here.
      const mayEnd = this.#phase === 'fetch' && this.#writes.size === 0 && !this.#isForced;
      if (mayEnd) this.#abandon();
      if (!this.isActive) checkpoints.resume();
      return this.isActive;
    }
    if (this.isActive || !checkpoints.hold()) return true;
    outbox.trace('info', 'sync', { from, commitMin: state.commitMin, opLow });
    this.#phase = 'fetch';
    this.#isForced = isHelped;
    this.#hasFailed = false;
    this.#silences = 0;
    this.#late.clear();
    this.#patienceNs = SYNC_RETRY_NS;
    const base = fixedSize(geometry);
    const { blocks } = checkpoints;
    this.#copy = new Copy(base, blocks.fileSize, blocks.places());
    this.#source = from;
    this.#answerNs = 0;
    this.#askCheckpoint();
    return true;
  }

  onRequest(from: number, bytes: Uint8Array): void {
    this.#server.onRequest(from, bytes);
  }

  onBlock(from: number, bytes: Uint8Array): void {
    if (this.#phase !== 'fetch' || from !== this.#source || this.#hasFailed) return;
    const body = bytes.subarray(HEADER_SIZE, readSize(bytes));
    if (peerBits(bytes, PeerOffset.bits2) === Wanted.checkpoint) this.#onCheckpoint(body);
    else this.#onPlace(peerNumber(bytes, PeerOffset.opHead), body);
    this.#goOn();
  }

  /** Nothing has come for a while: ask again, perhaps somebody else. */
  onDeadline(): void {
    const { deadlines, outbox, startView, member } = this.#parts;
    if (!this.isActive) return;
    if (this.#phase === 'ask') {
      startView.request(member.primary);
    } else if (this.#phase === 'fetch') {
      this.#askAgain();
    } else if (this.#phase === 'manifest') {
      this.#goOn();
    }
    deadlines.set('sync', outbox.now.monoNs + this.#patienceNs);
  }

  onWritten(token: number, error: StorageError | null): void {
    const message = this.#writes.get(token);
    assert(message !== undefined, 'Sync: nobody waits for this write');
    this.#writes.delete(token);
    this.#parts.pool.release(message);
    if (error !== null) {
      this.#parts.outbox.trace('error', 'disk-full', { offset: 0 });
      this.#hasFailed = true;
    }
    if (!this.#hasFailed) this.#goOn();
    else if (this.#writes.size === 0) this.#abandon();
  }

  onRead(token: number, bytes: Uint8Array): void {
    this.#server.onRead(token, bytes);
  }

  onFlushed(): void {
    const { startView, member } = this.#parts;
    if (this.#phase === 'flush-blocks') {
      assert(this.#copy !== null, 'Sync: nothing is copied');
      this.#phase = 'manifest';
      this.#pieces = this.#copy.manifest((bytes) => this.#checksumOf(bytes));
      this.#chunks = this.#pieces.map(({ chunk }) => chunk);
      this.#goOn();
      return;
    }
    assert(this.#phase === 'flush-manifest', 'Sync: nobody waits for a flush');
    this.#phase = 'ask';
    startView.request(member.primary);
  }

  /** The superblock may name the copy. */
  onSuperblock(): void {
    const { superblock, outbox } = this.#parts;
    const op = this.#copy?.reference?.op;
    if (this.#phase !== 'install' || superblock.current.checkpoint.op !== op) return;
    outbox.trace('info', 'synced', { op });
    outbox.restart();
  }

  /** Gives back every message it holds. */
  releaseMessages(): void {
    for (const message of this.#writes.values()) this.#parts.pool.release(message);
    this.#writes.clear();
  }

  #onCheckpoint(body: Uint8Array): void {
    const { state } = this.#parts;
    const reference = decodeCheckpoint(body);
    if (reference === null || reference.op <= state.commitMin) return;
    if (this.#copy?.reference?.op === reference.op && this.#items.length > 0) return;
    this.#copy?.begin(reference);
    this.#hasProgress = true;
    this.#asked.clear();
    this.#askedNs.clear();
    this.#items = this.#copy?.missing() ?? [];
  }

  #onPlace(offset: number, body: Uint8Array): void {
    const item = this.#asked.get(offset);
    if (item === undefined || body.length !== item.size || this.#copy === null) return;
    if (!bytesEqual(this.#checksumOf(body), 0, item.checksum, 0, 16)) {
      // The source has made another checkpoint meanwhile.
      this.#asked.delete(offset);
      this.#askCheckpoint();
      return;
    }
    if (item.key < 0) {
      if (!this.#copy.takeChunk(item.chunk, body)) return;
    } else {
      const { pool } = this.#parts;
      if (this.#writes.size >= WRITES_MAX || pool.available('reply') === 0) return;
      const isTaken = this.#write(this.#copy.place(item), body);
      assert(isTaken, 'Sync: there was room for the block');
    }
    this.#hasProgress = true;
    this.#learn(offset);
    this.#asked.delete(offset);
    this.#late.delete(offset);
    this.#items = this.#items.filter((other) => other !== item);
    if (this.#items.length === 0) this.#items = this.#copy.missing();
  }

  /** Of a block that came, how long it took. */
  #learn(offset: number): void {
    const askedNs = this.#askedNs.get(offset) ?? 0;
    this.#askedNs.delete(offset);
    if (askedNs === 0) return;
    const tookNs = Math.max(1, this.#parts.outbox.now.monoNs - askedNs);
    this.#answerNs = this.#answerNs === 0 ? tookNs : (3 * this.#answerNs + tookNs) / 4;
  }

  #goOn(): void {
    const { outbox } = this.#parts;
    if (this.#hasFailed) return;
    if (this.#phase === 'fetch') {
      if (this.#copy?.reference === null || this.#copy === null) {
        this.#askCheckpoint();
        return;
      }
      for (const item of this.#items) {
        if (this.#asked.size >= REQUESTS_MAX) break;
        if (!this.#asked.has(item.offset)) this.#askPlace(item);
      }
      if (this.#items.length > 0 || this.#writes.size > 0) return;
      this.#phase = 'flush-blocks';
      outbox.flush(Part.sync);
    } else if (this.#phase === 'manifest') {
      while (this.#pieces.length > 0 && this.#writes.size < WRITES_MAX) {
        const { chunk, bytes } = this.#pieces[0];
        if (!this.#write(chunk, bytes)) break;
        this.#pieces.shift();
      }
      if (this.#pieces.length > 0 || this.#writes.size > 0) return;
      this.#phase = 'flush-manifest';
      outbox.flush(Part.sync);
    }
  }

  #install({ view, commitMax, headers }: ToldLog): void {
    const { superblock, member, geometry } = this.#parts;
    const reference = this.#copy?.reference;
    assert(reference !== null && reference !== undefined, 'Sync: nothing to install');
    if (view < member.view || !superblock.isIdle) return;
    // The log must continue the copy, or what is left in the slots would be taken for it.
    const max = prepareMax(geometry, reference.op);
    const isJoined = headers.some((header) => {
      const op = opOf(header);
      return op >= reference.op && op <= max;
    });
    if (!isJoined) {
      this.#beginAnew();
      return;
    }
    this.#phase = 'install';
    superblock.update({
      view,
      logView: view,
      viewHeaders: headers.map((header) => header.slice()),
      commitMax: Math.max(superblock.newest.commitMax, commitMax, reference.op),
      isRecovered: false,
      fileSize: this.#copy?.fileSize ?? 0,
      checkpoint: { ...reference, manifest: this.#chunks },
    });
  }

  /** Returns `false` when there is no room in memory; the block is asked for again. */
  #write(place: { readonly offset: number }, bytes: Uint8Array): boolean {
    const { pool, outbox } = this.#parts;
    const message = pool.acquire('reply');
    if (message === null) return false;
    assert(bytes.length <= BLOCK_SIZE_MAX, 'Sync: block too large');
    const length = sectorCeil(bytes.length);
    message.bytes.set(bytes);
    message.bytes.fill(0, bytes.length, length);
    const staged = message.bytes.subarray(0, length);
    this.#writes.set(outbox.write(Part.sync, place.offset, staged, false), message);
    return true;
  }

  /** The copy is too old for the log of the view: the blocks are kept, a newer one is needed. */
  #beginAnew(): void {
    const { member } = this.#parts;
    this.#phase = 'fetch';
    this.#pieces = [];
    if (!member.isPrimary && member.primary !== this.#source) {
      this.#source = member.primary;
      this.#answerNs = 0;
    }
    this.#copy?.forget();
    this.#items = [];
    this.#asked.clear();
    this.#askedNs.clear();
    this.#askCheckpoint();
  }

  #askCheckpoint(): void {
    this.#ask({ bits2: Wanted.checkpoint });
  }

  #askPlace(item: Item): void {
    const { monoNs } = this.#parts.outbox.now;
    this.#asked.set(item.offset, item);
    this.#askedNs.set(item.offset, this.#askedNs.has(item.offset) ? 0 : monoNs);
    const op = this.#copy?.reference?.op ?? 0;
    this.#ask({ op, opHead: item.offset, bits: item.size, bits2: Wanted.place });
  }

  #ask(fields: { op?: number; opHead?: number; bits?: number; bits2: number }): void {
    const { pool, peers, member, deadlines, outbox } = this.#parts;
    if (!deadlines.isSet('sync')) deadlines.set('sync', outbox.now.monoNs + SYNC_RETRY_NS);
    const message = pool.acquire('small');
    if (message === null) return;
    const author = member.authorDurable();
    buildPeerMessage(message.bytes, Command.requestBlocks, author, fields, pool.checksum);
    peers.send(this.#source, message);
  }

  /**
   * Patience grows while nothing comes: the way may be long, or the other one busy. Once it is
   * known how long an answer takes, one that has not come in a few times that is lost.
   */
  #askAgain(): void {
    if (this.#hasProgress) {
      const usualNs = this.#answerNs > 0 ? ANSWERS * this.#answerNs : this.#patienceNs / 2;
      this.#patienceNs = Math.min(Math.max(SYNC_RETRY_NS, usualNs), SYNC_RETRY_MAX_NS);
      this.#silences = 0;
    } else {
      this.#patienceNs = Math.min(2 * this.#patienceNs, SYNC_RETRY_MAX_NS);
      this.#silences++;
    }
    // What has not come in a whole round is lost; who says nothing for two is gone.
    for (const offset of this.#late) this.#asked.delete(offset);
    this.#late.clear();
    for (const offset of this.#asked.keys()) this.#late.add(offset);
    if (this.#silences >= SILENCES_MAX) {
      this.#silences = 0;
      this.#asked.clear();
      this.#late.clear();
      this.#changeSource();
    } else if (this.#copy?.reference === null) {
      this.#askCheckpoint();
    }
    this.#hasProgress = false;
    this.#goOn();
  }

  #changeSource(): void {
    const { peers, prng } = this.#parts;
    const candidates = [...peersOf(peers.upMask)];
    if (candidates.length === 0) return;
    const source = candidates[prng.below(candidates.length)];
    // The same checkpoint lies elsewhere in another file.
    if (source !== this.#source) {
      this.#copy?.forget();
      this.#items = [];
      this.#askedNs.clear();
      this.#answerNs = 0;
    }
    this.#source = source;
    this.#askCheckpoint();
  }

  /** The log can be repaired after all. */
  #abandon(): void {
    this.#phase = 'idle';
    this.#copy = null;
    this.#isForced = false;
    this.#hasFailed = false;
    this.#items = [];
    this.#asked.clear();
    this.#askedNs.clear();
    this.#pieces = [];
    this.#parts.checkpoints.resume();
    this.#parts.deadlines.clear('sync');
  }

  #checksumOf(bytes: Uint8Array): Uint8Array {
    const checksum = new Uint8Array(16);
    this.#parts.pool.checksum.digest(bytes, 0, bytes.length, checksum, 0);
    return checksum;
  }
}
