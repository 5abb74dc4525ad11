/**
 * Plays a scenario to one server, a step at a time, several sessions at once, and says after each
 * step what every session got. Two players in lockstep make a comparison.
 */
import { compareText, encodeUtf8, type Json, serialize } from '../../src/ovsdb/index.ts';
import { Canonical } from './canonical.ts';
import type { Side } from './sides.ts';
import type { WireSession } from './wire-session.ts';

export type Step =
  | { readonly kind: 'open'; readonly session: string }
  | { readonly kind: 'send'; readonly session: string; readonly bytes: Uint8Array }
  /** The server may have to wait for the rest; then the session is over. */
  | { readonly kind: 'fragment'; readonly session: string; readonly bytes: Uint8Array }
  /** Sends these bytes and no more, and waits until the server closes. */
  | { readonly kind: 'last'; readonly session: string; readonly bytes: Uint8Array }
  /** Sends no more, and waits until the server closes. */
  | { readonly kind: 'finish'; readonly session: string }
  /** Until time makes the server say something. */
  | { readonly kind: 'await'; readonly session: string };

export function request(session: string, id: Json, method: string, params: Json): Step {
  return { kind: 'send', session, bytes: encodeUtf8(serialize({ id, method, params })) };
}

export function notification(session: string, method: string, params: Json): Step {
  return request(session, null, method, params);
}

/** Frames of a session in a step, canonical, and how it ended if it did. */
export interface Heard {
  readonly frames: readonly Json[];
  readonly texts: readonly string[];
}

export type HeardBySession = ReadonlyMap<string, Heard>;

export class Player {
  readonly side: Side;
  readonly #canonical: Canonical = new Canonical();
  readonly #sessions: Map<string, WireSession> = new Map();

  constructor(side: Side) {
    this.side = side;
  }

  async play(step: Step): Promise<HeardBySession> {
    if (step.kind === 'open') {
      this.#sessions.get(step.session)?.destroy();
      this.#sessions.set(step.session, await this.side.connect());
    }
    const acting = this.#sessions.get(step.session);
    if (acting === undefined) throw new Error(`no session ${step.session}`);
    const endings = new Map<string, string>();
    if (step.kind === 'last') acting.write(step.bytes);
    if (step.kind === 'finish' || step.kind === 'last') await acting.finish();
    if (step.kind === 'await') await acting.someFrame();
    const ending = await (step.kind === 'fragment'
      ? acting.syncBriefly(step.bytes)
      : acting.sync(undefined, step.kind === 'send' ? step.bytes : undefined));
    if (ending !== null) endings.set(step.session, ending);
    await this.#settle(endings);
    return this.#collect(endings);
  }

  /** What one step sets off in others may set off more: until all have nothing to add. */
  async #settle(endings: Map<string, string>): Promise<void> {
    const counts = new Map<string, number>();
    for (let round = 0; round < 10; round++) {
      let isQuiet = round > 0;
      const open = [...this.#sessions].filter(([name]) => !endings.has(name));
      await Promise.all(
        open.map(async ([name, session]) => {
          const ending = await session.sync();
          if (ending !== null) endings.set(name, ending);
          if (ending !== null || session.waitingFrames !== (counts.get(name) ?? 0)) {
            isQuiet = false;
          }
          counts.set(name, session.waitingFrames);
        }),
      );
      // Without frames in the first round there is nothing that could cause more.
      if (isQuiet || [...counts.values()].every((count) => count === 0)) return;
    }
  }

  #collect(endings: ReadonlyMap<string, string>): HeardBySession {
    this.#canonical.nextStep();
    const heard = new Map<string, Heard>();
    for (const name of [...this.#sessions.keys()].sort(compareText)) {
      const session = this.#sessions.get(name) as WireSession;
      const frames = session.take();
      const ending = endings.get(name);
      const texts = this.#canonical.ofAll(frames);
      heard.set(name, { frames, texts: ending === undefined ? texts : [...texts, ending] });
      if (ending === undefined) continue;
      session.destroy();
      this.#sessions.delete(name);
    }
    return heard;
  }

  hasSession(name: string): boolean {
    return this.#sessions.has(name);
  }

  stop(): void {
    for (const session of this.#sessions.values()) session.destroy();
    this.#sessions.clear();
  }
}

/** Equal texts are nothing; else both sides, to be read by a person. */
export function differenceOf(theirs: HeardBySession, ours: HeardBySession): string | null {
  const lines: string[] = [];
  for (const name of new Set([...theirs.keys(), ...ours.keys()])) {
    const [a, b] = [theirs.get(name)?.texts ?? [], ours.get(name)?.texts ?? []];
    if (a.length === b.length && a.every((text, i) => text === b[i])) continue;
    const shown = (texts: readonly string[]): string => texts.join('\n          ') || '(nothing)';
    lines.push(`  session ${name}\n   theirs ${shown(a)}\n   ours   ${shown(b)}`);
  }
  return lines.length === 0 ? null : lines.join('\n');
}
