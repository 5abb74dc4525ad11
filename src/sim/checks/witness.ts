/**
 * What one replica did, as its machine saw it, held against the history that all replicas share:
 * within a life its operations are consecutive, they begin where its file says, and each is the one
 * that the others applied, with the same answer.
 */
import { toHex, u64Compare } from '../../stdx/index.ts';
import { check } from '../world/failure.ts';
import type { World } from '../world/world.ts';
import { type Commit, type History, requestFingerprint, sameBytes } from './history.ts';
import type { Applied, MachineObserver } from './observed-machine.ts';

export class Witness implements MachineObserver {
  readonly #world: World;
  readonly #history: History;
  readonly #name: string;
  /** Index of this life's last applied operation; −1: of none before the first. */
  #position: number = -1;
  #applied: number = 0;
  /** Whether `#position` is known: it is not when nobody told which checkpoint a life begins at. */
  #isPlaced: boolean = false;

  constructor(world: World, history: History, name: string) {
    this.#world = world;
    this.#history = history;
    this.#name = name;
  }

  /**
   * A new life begins, from the state after operation `checkpoint`; `null`: after the operation of
   * any checkpoint that was ever taken.
   */
  onLife(checkpoint: number | null): void {
    this.#isPlaced = checkpoint !== null;
    this.#position = checkpoint === null ? -1 : this.#history.indexAt(checkpoint);
  }

  /** Operations applied in all lives. */
  get applied(): number {
    return this.#applied;
  }

  /** Has applied everything that anybody has. */
  get isAtEnd(): boolean {
    return this.#isPlaced && this.#position === this.#history.length - 1;
  }

  onApply(applied: Applied): void {
    this.#applied++;
    const known = this.#history.indexOf(applied.op);
    if (known === null) this.#onFirst(applied);
    else this.#onKnown(applied, known);
  }

  onCut(op: number, root: Uint8Array): void {
    this.#world.coverage.add('checkpoints');
    this.#world.note(this.#name, 'cut', `op ${op}`);
    this.#history.recordCut(op, toHex(root));
  }

  /**
   * The only replica there is says that it has recovered: everything ever applied must be in its
   * machine again, and nothing else.
   */
  onRecovered(root: Uint8Array): void {
    const last = this.#history.length - 1;
    const isComplete = !this.#isPlaced || this.#position === last;
    check(isComplete, 'lost-operation', () => {
      const stopped = this.#history.commitOf(this.#position)?.op ?? 0;
      const op = this.#history.commitOf(last)?.op;
      return `recovery stopped at op ${stopped}, op ${op} was applied`;
    });
    // Nothing replayed and another root: it was the checkpoint that lost something.
    this.#history.checkRoot(root, this.#isPlaced ? 'divergence' : 'lost-operation');
    this.#position = last;
    this.#isPlaced = true;
  }

  #onFirst(applied: Applied): void {
    const { op } = applied;
    const last = this.#history.length - 1;
    check(this.#isNext(last + 1), 'lost-operation', () => {
      const missing = this.#history.commitOf(last)?.op;
      return `${this.#name}: op ${op} is new, but op ${missing} was not applied before it`;
    });
    this.#history.record(applied);
    this.#place(last + 1);
  }

  #onKnown(applied: Applied, index: number): void {
    const { op } = applied;
    const commit = this.#history.commitOf(index) as Commit;
    const isNext = this.#isNext(index);
    const isAgain = this.#isPlaced && index <= this.#position;
    check(isNext, isAgain ? 'double-apply' : 'lost-operation', () => {
      const last = this.#history.commitOf(this.#position)?.op;
      return `${this.#name}: op ${op} applied after op ${last}`;
    });
    const isSame =
      commit.operation === applied.operation &&
      u64Compare(commit.timestamp, applied.timestamp) === 0 &&
      commit.request === requestFingerprint(applied.operation, applied.body);
    check(isSame, 'lost-operation', () => {
      return `${this.#name}: op ${op} was operation ${commit.operation}, here it is another request`;
    });
    check(sameBytes(commit.reply, applied.reply), 'divergence', () => {
      return `${this.#name}: op ${op} answers differently than before`;
    });
    this.#place(index);
    this.#world.coverage.add('replayedOps');
  }

  /**
   * Whether the operation at `index` may come now: right after the last one of this life, or first
   * in it, when everything before is in a checkpoint that was taken.
   */
  #isNext(index: number): boolean {
    if (this.#isPlaced) return index === this.#position + 1;
    const before = this.#history.commitOf(index - 1);
    return before === null || before.op <= this.#history.opCutMax;
  }

  #place(index: number): void {
    this.#position = index;
    this.#isPlaced = true;
  }
}
