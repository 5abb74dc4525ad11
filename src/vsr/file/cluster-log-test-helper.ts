/**
 * The log of one replica of a cluster, as it lies on disk while views come and go around it: two
 * rings, up to P writes under way in any order, a superblock that lags behind. It remembers what
 * was acknowledged and what view changes have cut off, and can tell whether a verdict on the disk
 * after a crash denies the one or brings back the other.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { type Prng, readSafeU64 } from '../../stdx/index.ts';
import { PrepareOffset, readView } from '../../wire/index.ts';
import { isBlank, writeBlank } from '../view-change/vote-codec.ts';
import { uniqueHeader } from '../view-change/vote-test-helper.ts';
import type { ClusterResolution, ClusterScan, ClusterSlotScan } from './cluster-resolution.ts';
import { checkpointAfter, type Geometry, prepareMax } from './geometry.ts';

const geometry: Geometry = { slots: 40, slotSize: 4096, requestSizeMax: 4096 };
const zero16 = new Uint8Array(16);

/** What one place of a ring holds. */
type Place = Uint8Array | 'reserved' | 'bad';
type Ring = 'headers' | 'prepares';

interface Write {
  readonly op: number;
  readonly header: Uint8Array;
  phase: 'body' | 'header';
}

interface Durable {
  readonly view: number;
  readonly logView: number;
  readonly viewHeaders: readonly Uint8Array[];
}

/**
 * `returning`: what was cut off may return with a later view, so that a crash may look like a loss.
 * `eager`: a bug. Prepares are written before it is durable that the log is one of their view; they
 * destroy what was acknowledged in the view that is, and a later life does not know it.
 */
export type Habit = 'plain' | 'eager' | 'returning';

export class ClusterLog {
  readonly prng: Prng;
  readonly #habit: Habit;
  readonly rings: Record<Ring, Place[]>;
  /** What stood there before the last write, to undo it. */
  readonly #before: Record<Ring, Place[]>;
  checkpoint: number = 0;
  durable: Durable;
  #pending: Durable | null = null;
  #view: number = 0;
  #logView: number = 0;
  #viewHeaders: readonly Uint8Array[];
  #isNormal: boolean = true;
  #head: number = 0;
  #commit: number = 0;
  /** Every operation of each view's log, whether or not it has come here. */
  readonly #worlds: Map<number, Map<number, Uint8Array>> = new Map();
  /** What of it has come here, and of that what is durable. */
  #log: Map<number, Uint8Array> = new Map();
  #clean: Set<number> = new Set();
  #writes: Write[] = [];
  /** Header → view in which it was acknowledged last. */
  readonly #acked: Map<Uint8Array, number> = new Map();
  /** Header → view in which it was cut off here: what was acknowledged before is void. */
  readonly #voidIn: Map<Uint8Array, number> = new Map();

  constructor(prng: Prng, habit: Habit) {
    this.prng = prng;
    this.#habit = habit;
    const root = uniqueHeader({ op: 0, view: 0, commit: 0, parent: zero16 });
    const ring = (): Place[] => {
      const places = new Array<Place>(geometry.slots).fill('reserved');
      places[0] = root;
      return places;
    };
    this.rings = { headers: ring(), prepares: ring() };
    this.#before = { headers: ring(), prepares: ring() };
    this.#viewHeaders = [];
    this.durable = { view: 0, logView: 0, viewHeaders: [] };
    this.#worlds.set(0, new Map([[0, root]]));
    this.#log.set(0, root);
    this.#clean.add(0);
  }

  /** One thing happens. */
  step(): void {
    const { prng } = this;
    switch (prng.below(12)) {
      case 0:
        if (prng.chance(1, 4)) this.#leaveView();
        break;
      case 1:
        if (prng.chance(1, 3)) this.#takeOver();
        break;
      case 2:
        this.#saveSuperblock();
        break;
      case 3:
        this.#commit = prng.between(this.#commit, Math.max(this.#commit, this.#cleanUpTo()));
        this.#takeCheckpoint();
        break;
      case 4:
      case 5:
        this.#learn();
        break;
      case 6:
      case 7:
      case 8:
        this.#append();
        break;
      default:
        this.#finishWrite();
    }
    this.#beginWrites();
  }

  /** Power is gone: what was under way is done, torn, or has not begun. */
  crash(): void {
    const { prng } = this;
    if (prng.chance(1, 2)) this.#saveSuperblock();
    this.#pending = null;
    for (const { op, header, phase } of this.#writes) {
      const ring: Ring = phase === 'body' ? 'prepares' : 'headers';
      const outcome = prng.pick(['none', 'torn', 'done'] as const);
      if (outcome !== 'none') this.#put(ring, op, outcome === 'torn' ? 'bad' : header);
    }
    this.#writes = [];
    for (const [header, view] of this.#voidIn) {
      if (view > this.durable.logView) this.#voidIn.delete(header);
    }
  }

  /** Damages the place of a slot; `old`: as if its last write had never been made. */
  damage(slot: number, ring: Ring, kind: 'bad' | 'old'): void {
    this.rings[ring][slot] = kind === 'bad' ? 'bad' : this.#before[ring][slot]!;
  }

  scan(): ClusterScan {
    const slots = this.rings.headers.map((header, slot): ClusterSlotScan => {
      const prepare = this.rings.prepares[slot]!;
      const stateOf = (place: Place) => (typeof place === 'string' ? place : 'valid');
      const bytesOf = (place: Place) => (typeof place === 'string' ? new Uint8Array(256) : place);
      return {
        header: stateOf(header),
        headerOp: opOf(bytesOf(header)),
        prepare: stateOf(prepare),
        prepareOp: opOf(bytesOf(prepare)),
        isIdentical: typeof header !== 'string' && header === prepare,
        headerBytes: bytesOf(header),
        prepareBytes: bytesOf(prepare),
      };
    });
    const { checkpoint } = this;
    return { slots, checkpoint, prepareMax: prepareMax(geometry, checkpoint), ...this.durable };
  }

  /** Why the verdict is wrong, if it is. `isCrash`: nothing but crashes has happened. */
  problem(verdict: ClusterResolution, isCrash: boolean): string | null {
    const { logView, view } = this.durable;
    const world = this.#worlds.get(logView)!;
    const isInForce = (header: Uint8Array): boolean => world.get(opOf(header)) === header;
    for (const [header, ackedIn] of this.#acked) {
      const op = opOf(header);
      const isVoid = ackedIn <= (this.#voidIn.get(header) ?? -1) || !isInForce(header);
      if (op <= this.checkpoint || ackedIn > logView || isVoid) continue;
      const slot = verdict.slots[op % geometry.slots]!;
      const isThere = op <= verdict.head && slot.kind === 'clean' && slot.header === header;
      if (isCrash && this.#habit === 'plain' && !isThere)
        return `${op} was acknowledged and is not there`;
      const isDenied = verdict.isHeadCertain && (op > verdict.head || slot.kind !== 'faulty');
      if (!isThere && isDenied) return `${op} was acknowledged and is denied`;
    }
    const oldest = this.durable.viewHeaders.at(-1);
    let above: Uint8Array | null = null;
    for (let op = this.checkpoint + geometry.slots; op > this.checkpoint; op--) {
      const slot = verdict.slots[op % geometry.slots]!;
      const header: Uint8Array | null =
        slot.kind === 'clean' && slot.op === op ? slot.header : null;
      if (header === null || !this.#isCounted(header, above)) {
        above = null;
        continue;
      }
      above = header;
      if (op > verdict.head) return `${op} lies behind the head`;
      if (!isInForce(header)) return `${op} was cut off and is back`;
      if (readView(header) > logView) return `${op} is of a later view`;
    }
    if (!isCrash || this.#habit !== 'plain') return null;
    if (!verdict.isHeadCertain) return 'the head is uncertain after a mere crash';
    const committed = oldest === undefined ? this.checkpoint : opOf(oldest) - 1;
    for (let op = committed + 1; op <= this.checkpoint + geometry.slots; op++) {
      const slot = verdict.slots[op % geometry.slots]!;
      // Where nothing is known, a torn write over an older view's operation cannot be told apart.
      const isUnknown = this.durable.viewHeaders.some(
        (known) => isBlank(known) && opOf(known) === op,
      );
      if (slot.kind === 'faulty' && !isUnknown)
        return `${op} is faulty after a mere crash: ${slot.row}`;
    }
    const isRaised = logView < view || verdict.headHeader === null;
    return isRaised || opOf(verdict.headHeader) === verdict.head ? null : 'head without its header';
  }

  /** Whether a log takes a header for its own: by its view, the superblock, or the one above. */
  #isCounted(header: Uint8Array, above: Uint8Array | null): boolean {
    const { logView, viewHeaders } = this.durable;
    if (readView(header) === logView || viewHeaders.includes(header)) return true;
    if (viewHeaders.length === 0) return true;
    return above !== null && isParent(header, above);
  }

  /** The next life, with what the verdict has left. */
  restart(verdict: ClusterResolution): void {
    for (const slot of verdict.fixes) this.rings.headers[slot] = this.rings.prepares[slot]!;
    const { view, logView, viewHeaders } = this.durable;
    this.#view = view;
    this.#logView = logView;
    this.#viewHeaders = viewHeaders;
    this.#isNormal = view === logView;
    this.#head = verdict.head;
    this.#log = new Map();
    this.#clean = new Set();
    for (const slot of verdict.slots) {
      if (slot.kind !== 'clean' || this.#world.get(slot.op) !== slot.header) continue;
      this.#log.set(slot.op, slot.header);
      this.#clean.add(slot.op);
    }
    // What the checkpoint covers need not be in the log.
    for (let op = 0; op <= this.checkpoint; op++) this.#clean.add(op);
    const { headHeader } = verdict;
    if (headHeader !== null) this.#log.set(this.#head, headHeader);
  }

  get #world(): Map<number, Uint8Array> {
    return this.#worlds.get(this.#logView)!;
  }

  get #limit(): number {
    return prepareMax(geometry, this.checkpoint);
  }

  #cleanUpTo(): number {
    let op = this.#commit;
    while (op < this.#head && this.#clean.has(op + 1)) op++;
    return op;
  }

  /** The next operation of the view arrives, or the one behind it, which leaves a gap. */
  #append(): void {
    if (!this.#isNormal) return;
    const op = this.#head + (this.prng.chance(1, 4) ? 2 : 1);
    if (op > this.#limit || op - this.#commit > PIPELINE_MAX) return;
    for (let next = this.#head + 1; next <= op; next++) this.#invent(next);
    this.#head = op;
    this.#log.set(op, this.#world.get(op)!);
  }

  /** Somebody has an operation at `op` in the current view. */
  #invent(op: number): void {
    if (this.#world.has(op)) return;
    const parent = this.#world.get(op - 1)!.subarray(0, 16);
    const fields = { op, view: this.#logView, commit: this.#commit, parent };
    this.#world.set(op, uniqueHeader(fields));
  }

  /** An operation that was missed comes after all. */
  #learn(): void {
    if (!this.#isNormal) return;
    for (let op = this.checkpoint + 1; op < this.#head; op++) {
      if (this.#log.has(op) || this.prng.chance(1, 3)) continue;
      this.#log.set(op, this.#world.get(op)!);
      return;
    }
  }

  #beginWrites(): void {
    const isDurable = this.durable.logView === this.#logView;
    if (!this.#isNormal || !(isDurable || this.#habit === 'eager')) return;
    for (const [op, header] of this.#log) {
      if (this.#writes.length === PIPELINE_MAX) return;
      if (op <= this.checkpoint || this.#clean.has(op) || this.prng.chance(1, 3)) continue;
      if (this.#writes.some((write) => (write.op - op) % geometry.slots === 0)) continue;
      if (this.#holds(op, header)) {
        // It was there, was cut off, and is in the log again.
        this.#clean.add(op);
        this.#acknowledge();
      } else this.#writes.push({ op, header, phase: 'body' });
    }
  }

  #holds(op: number, header: Uint8Array): boolean {
    const slot = op % geometry.slots;
    return this.rings.headers[slot] === header && this.rings.prepares[slot] === header;
  }

  #finishWrite(): void {
    if (this.#writes.length === 0) return;
    const index = this.prng.below(this.#writes.length);
    const write = this.#writes[index]!;
    this.#put(write.phase === 'body' ? 'prepares' : 'headers', write.op, write.header);
    const isWanted = this.#log.get(write.op) === write.header;
    if (write.phase === 'body' && isWanted) {
      write.phase = 'header';
      return;
    }
    this.#writes.splice(index, 1);
    if (!isWanted || write.phase === 'body') return;
    this.#clean.add(write.op);
    this.#acknowledge();
  }

  #acknowledge(): void {
    if (!this.#isNormal || this.durable.logView !== this.#logView) return;
    for (const op of this.#clean) {
      const header = this.#log.get(op);
      if (header !== undefined && op <= this.#head) this.#acked.set(header, this.#logView);
    }
  }

  #put(ring: Ring, op: number, place: Place): void {
    const slot = op % geometry.slots;
    this.#before[ring][slot] = this.rings[ring][slot]!;
    this.rings[ring][slot] = place;
  }

  #takeCheckpoint(): void {
    const next = checkpointAfter(geometry, this.checkpoint);
    if (this.#commit < next) return;
    this.#saveSuperblock();
    this.checkpoint = next;
  }

  #saveSuperblock(): void {
    if (this.#pending === null) return;
    // Four copies, one after another, take longer than a header that is under way already.
    for (const { op, header, phase } of this.#writes) {
      if (phase === 'header' && this.#log.get(op) !== header) this.#put('headers', op, header);
    }
    this.#writes = this.#writes.filter(
      ({ op, header, phase }) => phase === 'body' || this.#log.get(op) === header,
    );
    this.durable = this.#pending;
    this.#pending = null;
    this.#acknowledge();
  }

  #leaveView(): void {
    if (this.#isNormal) {
      const headers: Uint8Array[] = [];
      for (let op = this.#head; op >= 0 && headers.length <= PIPELINE_MAX; op--) {
        headers.push(this.#headerFor(op));
        if (op <= this.#commit) break;
      }
      this.#viewHeaders = headers;
    }
    this.#isNormal = false;
    this.#enterView();
    this.#save();
  }

  /** Never one that had a log before, even if this replica has forgotten it in a crash. */
  #enterView(): void {
    this.#view = Math.max(this.#view, ...this.#worlds.keys()) + this.prng.between(2, 4);
  }

  #headerFor(op: number): Uint8Array {
    const known = this.#log.get(op) ?? this.#viewHeaders.find((header) => opOf(header) === op);
    if (known !== undefined) return known;
    const blank = new Uint8Array(256);
    writeBlank(blank, op);
    return blank;
  }

  /** The primary of a new view tells of its log: ours up to some op, then perhaps another's. */
  #takeOver(): void {
    const { prng } = this;
    if (this.#isNormal || this.#worlds.has(this.#view)) this.#enterView();
    const last = Math.max(...this.#world.keys());
    const stays = prng.between(this.#commit, last);
    const world = new Map([...this.#world].filter(([op]) => op <= stays));
    let top = stays;
    for (let more = prng.below(5); more > 0 && this.#view - this.#logView > 1; more--) {
      if (top - this.#commit === PIPELINE_MAX || top === this.#limit) break;
      const parent = world.get(top)!.subarray(0, 16);
      top++;
      world.set(top, this.#foreign(top, parent));
    }
    this.#worlds.set(this.#view, world);
    this.#logView = this.#view;
    this.#isNormal = true;
    this.#head = top;
    this.#viewHeaders = [];
    for (const [op, header] of this.#log) if (world.get(op) !== header) this.#forget(op);
    for (const [header, ackedIn] of this.#acked) {
      const isVoid = (this.#voidIn.get(header) ?? -1) >= ackedIn;
      if (world.get(opOf(header)) !== header && !isVoid) this.#voidIn.set(header, this.#view);
    }
    const headers: Uint8Array[] = [];
    for (let op = top; op >= 0 && headers.length <= PIPELINE_MAX; op--) {
      const header = world.get(op)!;
      headers.push(header);
      if (op > this.checkpoint) this.#log.set(op, header);
    }
    this.#viewHeaders = headers;
    this.#save();
  }

  /** Another primary's operation: a new one, or one that was cut off here before. */
  #foreign(op: number, parent: Uint8Array): Uint8Array {
    const mayReturn = this.#habit === 'returning' && this.prng.chance(1, 2);
    for (const older of mayReturn ? this.#worlds.values() : []) {
      const header = older.get(op);
      if (header === undefined || readView(header) >= this.#view) continue;
      if (readSafeU64(header, PrepareOffset.parent) === readSafeU64(parent, 0)) return header;
    }
    return uniqueHeader({ op, view: this.#view - 1, commit: this.#commit, parent });
  }

  #forget(op: number): void {
    this.#log.delete(op);
    this.#clean.delete(op);
  }

  #save(): void {
    this.#pending = { view: this.#view, logView: this.#logView, viewHeaders: this.#viewHeaders };
  }
}

function opOf(header: Uint8Array): number {
  return readSafeU64(header, PrepareOffset.op) ?? 0;
}

function isParent(header: Uint8Array, above: Uint8Array): boolean {
  return readSafeU64(above, PrepareOffset.parent) === readSafeU64(header, 0);
}
