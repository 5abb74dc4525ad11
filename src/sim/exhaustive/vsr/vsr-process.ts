/**
 * One real replica on its file, and what a driver does for it: reads, the commit timer, and on a
 * fast disk every write. Its clock stands still but for one nanosecond with every operation that it
 * knows to be committed, so that what it says is told apart and does not depend on how long it has
 * been running; a timer that is made to end moves the clock there. All clocks agree.
 */
import { CounterMachine, type Effect, type Event } from '../../../engine/index.ts';
import {
  AssertionError,
  assert,
  u64FromNumber,
  writeSafeU64,
  writeU64,
} from '../../../stdx/index.ts';
import { type Parts, RELEASE, Replica } from '../../../vsr/index.ts';
import {
  type Checksum,
  Command,
  createChecksum,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  PeerOffset,
  readSize,
  sealBody,
  sealHeader,
} from '../../../wire/index.ts';
import { CLUSTER, GEOMETRY, replicaIdOf, VsrDisk } from './vsr-disk.ts';
import { VsrShadow } from './vsr-shadow.ts';

export const checksum: Checksum = createChecksum();

const MS = 1_000_000;
const BASE_NS: number = 1_000 * MS;
const WALL_NS = 1_000_000_000_000;
/** The clock goes forward by multiples of this. */
const JUMP_NS: number = 10 * MS;

export interface VsrProcessOptions {
  readonly member: number;
  readonly replicas: number;
  /** All writes wait until they are made to end. */
  readonly isAlwaysSlow: boolean;
  /** A planted bug. */
  readonly onParts: ((parts: Parts) => void) | null;
  readonly onSend: (to: number, bytes: Uint8Array) => void;
  readonly onReply: (bytes: Uint8Array) => void;
}

/** Pools of replicas that are closed: making one takes longer than most lives. */
const shelf: MessagePool[] = [];

function takePool(): MessagePool {
  const sizes = { requestSlotSize: GEOMETRY.slotSize, requestSlots: 64, replySlots: 12 };
  return shelf.pop() ?? new MessagePool({ ...sizes, smallSlots: 128 });
}

export class VsrProcess {
  readonly #options: VsrProcessOptions;
  readonly disk: VsrDisk;
  readonly #pool: MessagePool = takePool();
  #replica: Replica | null = null;
  #parts: Parts | null = null;
  #shadow: VsrShadow | null = null;
  #life: number = 0;
  /** By the timers that ended in this life. */
  #jumpedNs: number = 0;
  /** The time, where it does not stand still. */
  #freeNs: number | null = null;
  /** Writes wait until they are made to end. */
  isSlow: boolean = false;
  #isCommitArmed: boolean = false;
  /** When it wants to be woken; the clock stands still, so only a calm world looks at it. */
  wakeNs: number = Number.POSITIVE_INFINITY;
  readonly #events: Event[] = [];

  /** On a fresh file; not open yet. */
  constructor(options: VsrProcessOptions) {
    this.#options = options;
    this.disk = new VsrDisk(options.member, options.replicas, checksum);
  }

  get parts(): Parts {
    assert(this.#parts !== null, 'VsrProcess: not open');
    return this.#parts;
  }

  get shadow(): VsrShadow {
    assert(this.#shadow !== null, 'VsrProcess: not open');
    return this.#shadow;
  }

  /** How often it was opened. */
  get life(): number {
    return this.#life;
  }

  /** Opens its file, is connected with all others, and has the time from them. */
  open(): void {
    const { member, replicas, onParts } = this.#options;
    const { superblock } = this.disk;
    if (!superblock.ok) throw new AssertionError('the superblock is gone');
    this.#life++;
    this.#jumpedNs = 0;
    this.#freeNs = 0;
    this.isSlow = false;
    this.wakeNs = Number.POSITIVE_INFINITY;
    this.#isCommitArmed = false;
    this.#replica = new Replica({
      pool: this.#pool,
      machine: new CounterMachine(),
      superblock,
      seed: this.#life,
      onParts: (parts) => {
        this.#parts = parts;
        // Whom to ask first, and jitter: nothing is left to chance.
        parts.prng.chance = () => false;
        parts.prng.below = () => 0;
        onParts?.(parts);
        this.#shadow = new VsrShadow(parts);
      },
    });
    this.step({ type: 'open' });
    this.settle();
    const others = Array.from({ length: replicas }, (_, i) => i).filter((i) => i !== member);
    for (const other of others) this.meet(other);
    for (const nowNs of [1 * MS, 4 * MS]) {
      this.#freeNs = nowNs;
      for (const other of others) this.#pong(other);
    }
    this.#freeNs = null;
    this.isSlow = this.#options.isAlwaysSlow;
  }

  meet(replica: number): void {
    const replicaId = replicaIdOf(replica);
    this.step({ type: 'peer-up', replica, replicaId, isRecovered: false });
  }

  /** The link is lost and there again. */
  renew(replica: number): void {
    this.step({ type: 'peer-down', replica });
    this.meet(replica);
  }

  take(from: number, bytes: Uint8Array): void {
    this.step({ type: 'peer-message', replica: from, message: this.#message(bytes) });
  }

  /** From a client. */
  give(connection: number, bytes: Uint8Array): void {
    this.step({ type: 'message', connection, message: this.#message(bytes) });
  }

  /** Its time goes on from here, as the caller says. */
  free(nowNs: number): void {
    this.#freeNs = nowNs;
    this.isSlow = false;
  }

  get nowNs(): number {
    if (this.#freeNs !== null) return this.#freeNs;
    return BASE_NS + this.#jumpedNs + (this.#parts?.commits.commitMax ?? 0);
  }

  /** The clock goes forward to `atNs` or a little later, and stands still there. */
  jump(atNs: number): void {
    const aheadNs = Math.max(0, atNs - this.nowNs);
    this.#jumpedNs += Math.ceil(aheadNs / JUMP_NS) * JUMP_NS;
  }

  /** All that is due by now. */
  wake(): void {
    this.wakeNs = Number.POSITIVE_INFINITY;
    this.step({ type: 'timer', timer: 'wake' });
  }

  /** All writes of this group end; −1: of any. */
  finish(group: number): void {
    let write = this.disk.finish(group);
    for (; write !== null; write = this.disk.finish(group)) {
      this.step({ type: 'written', token: write.token, error: null });
      this.#drain();
    }
    if (this.disk.writes.length === 0) this.isSlow = this.#options.isAlwaysSlow;
  }

  /** What follows at once: reads, the commit timer, and on a fast disk every write. */
  settle(): void {
    for (;;) {
      this.#drain();
      const write = this.isSlow ? null : this.disk.finish(-1);
      if (write === null) return;
      this.step({ type: 'written', token: write.token, error: null });
    }
  }

  /** The process is gone; the file stays. */
  end(): void {
    this.#replica?.releaseMessages();
    this.#replica = null;
    for (const event of this.#events) if ('message' in event) this.#pool.release(event.message);
    this.#events.length = 0;
    assert(this.#pool.leaked() === 0, 'VsrProcess: messages leaked');
  }

  close(): void {
    this.end();
    shelf.push(this.#pool);
  }

  step(event: Event): void {
    assert(this.#replica !== null, 'VsrProcess: not open');
    const monoNs = this.nowNs;
    // All wall clocks show the same, those that stand still too.
    const wallNs = this.#freeNs ?? BASE_NS + this.#jumpedNs;
    const now = { monoNs, wall: u64FromNumber(WALL_NS + wallNs) };
    const effects = [...this.#replica.step(event, now)];
    for (const effect of effects) this.#execute(effect);
    this.#replica.invariants();
  }

  #drain(): void {
    for (;;) {
      if (this.#isCommitArmed) {
        this.#isCommitArmed = false;
        this.step({ type: 'timer', timer: 'commit' });
        continue;
      }
      const event = this.#events.shift();
      if (event === undefined) return;
      this.step(event);
    }
  }

  /** An answer to a ping of two milliseconds ago: so all clocks agree. */
  #pong(replica: number): void {
    const bytes = new Uint8Array(HEADER_SIZE);
    const { view } = this.parts.superblock.current;
    const fields = { command: Command.pong, size: HEADER_SIZE, cluster: CLUSTER };
    initHeader(bytes, { ...fields, view, release: RELEASE, replica });
    writeSafeU64(bytes, PeerOffset.monotonic, Math.max(0, this.nowNs - 2 * MS));
    writeU64(bytes, PeerOffset.wall, u64FromNumber(WALL_NS + this.nowNs - MS));
    sealBody(bytes, checksum);
    sealHeader(bytes, checksum);
    this.take(replica, bytes);
  }

  #execute(effect: Effect): void {
    const { onSend, onReply } = this.#options;
    switch (effect.type) {
      case 'send':
        onReply(this.#bytesOf(effect.message));
        break;
      case 'send-peer':
        onSend(effect.replica, this.#bytesOf(effect.message));
        break;
      case 'write':
        this.disk.write(effect.token, effect.offset, effect.bytes);
        break;
      case 'read': {
        const bytes = this.disk.read(effect.offset, effect.length);
        this.#events.push({ type: 'read', token: effect.token, bytes, error: null });
        break;
      }
      case 'flush':
        this.#events.push({ type: 'flushed', token: effect.token, error: null });
        break;
      case 'timer':
        if (effect.timer === 'commit') this.#isCommitArmed = effect.afterNs !== null;
        else this.wakeNs = this.nowNs + (effect.afterNs ?? Number.POSITIVE_INFINITY);
        break;
      case 'halt':
        throw new AssertionError(`it halts: ${effect.code}: ${effect.reason}`);
      case 'restart':
        throw new AssertionError('it copies a checkpoint');
      default:
        break;
    }
  }

  #bytesOf(message: Message): Uint8Array {
    const bytes = message.bytes.slice(0, readSize(message.bytes));
    this.#pool.release(message);
    return bytes;
  }

  #message(bytes: Uint8Array): Message {
    const message = this.#pool.acquire(bytes.length <= 4096 ? 'small' : 'request');
    assert(message !== null, 'VsrProcess: no room for a message');
    message.bytes.set(bytes);
    return message;
  }
}
