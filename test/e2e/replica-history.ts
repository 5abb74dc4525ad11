/**
 * What the clients of a key-value store saw, judged while it goes on: operations are gathered by
 * key, and keys are used for a while only, so that each can be judged and forgotten when nobody
 * waits for anything about it any more.
 */
import {
  checkLinearizable,
  describeVerdict,
  type KeyValueInput,
  keyValueModel,
  type Operation,
  type RegisterOutput,
} from '../../src/sim/index.ts';

/** Operations after which a key is replaced by another. */
const OPERATIONS_PER_KEY = 400;

export type StoreOperation = Operation<KeyValueInput, RegisterOutput>;

/** One key, as long as it is used. */
export interface KeyHistory {
  readonly key: string;
  readonly operations: StoreOperation[];
  begun: number;
  open: number;
}

export class StoreHistory {
  readonly #keys: KeyHistory[];
  #keysMade: number = 0;
  /** Retired, with operations under way. */
  readonly #retired: Set<KeyHistory> = new Set();
  judged: number = 0;
  unknown: number = 0;
  /** What was found; empty: nothing. */
  readonly problems: string[] = [];
  /** Keys whose search would have taken too long. */
  unclear: number = 0;

  constructor(keysAtOnce: number) {
    this.#keys = Array.from({ length: keysAtOnce }, () => this.#newKey());
  }

  /** The key in a place; counts an operation as begun. */
  begin(place: number): KeyHistory {
    let history = this.#keys[place]!;
    if (history.begun >= OPERATIONS_PER_KEY) {
      this.#retire(history);
      history = this.#newKey();
      this.#keys[place] = history;
    }
    history.begun += 1;
    history.open += 1;
    return history;
  }

  /** `null`: it is known not to have happened. */
  end(history: KeyHistory, operation: StoreOperation | null): void {
    history.open -= 1;
    if (operation !== null) history.operations.push(operation);
    if (operation?.return === null) this.unknown += 1;
    if (history.open === 0 && this.#retired.delete(history)) this.#judge(history);
  }

  /** Judges what is left; nothing is under way any more. */
  finish(): void {
    for (const history of [...this.#retired, ...this.#keys]) this.#judge(history);
    this.#retired.clear();
  }

  #newKey(): KeyHistory {
    this.#keysMade += 1;
    return { key: `key${this.#keysMade}`, operations: [], begun: 0, open: 0 };
  }

  #retire(history: KeyHistory): void {
    if (history.open === 0) this.#judge(history);
    else this.#retired.add(history);
  }

  #judge({ operations }: KeyHistory): void {
    const verdict = checkLinearizable(operations, keyValueModel());
    this.judged += operations.length;
    if (verdict.kind === 'unknown') this.unclear += 1;
    if (verdict.kind === 'not-linearizable') this.problems.push(describeVerdict(verdict));
  }
}
