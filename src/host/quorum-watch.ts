/**
 * Says in the log when too few replicas are connected to go on, and when there are enough again. A
 * replica that has just started or lost a peer is not alone yet, so a shortage is told after a
 * while.
 */

export interface Quorum {
  /** Replicas that are there, this one counted. */
  readonly have: number;
  /** Replicas that it takes. */
  readonly need: number;
}

/** How long a shortage may last untold, ms. */
const PATIENCE_MS = 1_000;

export class QuorumWatch {
  readonly #tell: (text: string) => void;
  readonly #patienceMs: number;
  #quorum: Quorum = { have: 0, need: 0 };
  #timer: NodeJS.Timeout | null = null;
  /** What was told last, as long as it is true. */
  #told: number | null = null;

  constructor(tell: (text: string) => void, patienceMs: number = PATIENCE_MS) {
    this.#tell = tell;
    this.#patienceMs = patienceMs;
  }

  /** To be called when somebody came or went. */
  update(quorum: Quorum): void {
    this.#quorum = quorum;
    const { have, need } = quorum;
    if (have >= need) {
      this.#clear();
      if (this.#told !== null) this.#tell(`quorum of ${need} reached, ${have} are connected`);
      this.#told = null;
    } else if (this.#told !== have) {
      this.#timer ??= setTimeout(() => this.#complain(), this.#patienceMs).unref();
    }
  }

  stop(): void {
    this.#clear();
  }

  #complain(): void {
    this.#timer = null;
    const { have, need } = this.#quorum;
    if (have === this.#told) return;
    this.#told = have;
    this.#tell(`waiting for quorum, have ${have} of ${need}: nothing can be committed meanwhile`);
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
