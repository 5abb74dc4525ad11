/**
 * Notices who leads. An engine has no event for that: it is a matter of its status, which is looked
 * at when the engine says something, and now and then.
 */
import type { EngineStatus } from '../../engine/index.ts';

/** Who leads, as far as one replica knows. */
export interface Leader {
  /** Index of the leader; `null`: nobody, as far as is known here. */
  readonly replica: number | null;
  /** Higher is later. */
  readonly view: number;
  /** This replica is it. */
  readonly isSelf: boolean;
}

const INTERVAL_MS = 100;

export class LeaderWatch {
  readonly #status: () => EngineStatus;
  readonly #tell: (leader: Leader) => void;
  readonly #timer: NodeJS.Timeout;
  #last: Leader = { replica: null, view: -1, isSelf: false };

  constructor(status: () => EngineStatus, tell: (leader: Leader) => void) {
    this.#status = status;
    this.#tell = tell;
    this.#timer = setInterval(() => this.look(), INTERVAL_MS);
    this.#timer.unref();
  }

  look(): void {
    const now = leaderOf(this.#status());
    const before = this.#last;
    // A view without a leader is no news for who knew of none.
    if (now.replica === before.replica && (now.replica === null || now.view === before.view))
      return;
    this.#last = now;
    this.#tell(now);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export function leaderOf({ role, view, primary, replica }: EngineStatus): Leader {
  const isKnown = role === 'primary' || role === 'backup';
  return { replica: isKnown ? primary : null, view, isSelf: isKnown && primary === replica };
}
