/**
 * What arrives at a process: bytes from its connections and from its peers, made into messages by
 * the real framer. When the pool has no room, bytes wait where they are, as in a socket that nobody
 * reads.
 */
import { Framer, type Message, type MessagePool } from '../../wire/index.ts';
import { check } from '../world/failure.ts';
import type { World } from '../world/world.ts';

export interface IntakeOptions {
  /** 16 bytes. */
  readonly cluster: Uint8Array;
  /** Largest request, header included, bytes. */
  readonly requestSizeMax: number;
}

export interface IntakeUser {
  onMessage(source: number, outcome: 'message' | 'oversize', message: Message): void;
  /** Does `action` a little later, unless the life is over by then. */
  retryLater(action: () => void): void;
}

interface Source {
  readonly framer: Framer;
  /** Bytes that found the pool full. */
  readonly backlog: Uint8Array[];
}

export class Intake {
  readonly #world: World;
  readonly #options: IntakeOptions;
  readonly #user: IntakeUser;
  readonly #sources: Map<number, Source> = new Map();

  constructor(world: World, options: IntakeOptions, user: IntakeUser) {
    this.#world = world;
    this.#options = options;
    this.#user = user;
  }

  has(source: number): boolean {
    return this.#sources.has(source);
  }

  open(source: number, pool: MessagePool): void {
    this.close(source);
    const { cluster, requestSizeMax } = this.#options;
    const framer = new Framer({ pool, cluster, requestSizeMax });
    this.#sources.set(source, { framer, backlog: [] });
  }

  /** Whatever had only half arrived is forgotten. Returns whether it was open. */
  close(source: number): boolean {
    this.#sources.get(source)?.framer.destroy();
    return this.#sources.delete(source);
  }

  clear(): void {
    for (const { framer } of this.#sources.values()) framer.destroy();
    this.#sources.clear();
  }

  push(source: number, bytes: Uint8Array): void {
    const target = this.#sources.get(source);
    if (target === undefined) return;
    target.backlog.push(bytes);
    if (target.backlog.length === 1) this.#drain(source, target);
  }

  #drain(source: number, target: Source): void {
    while (target.backlog.length > 0 && this.#sources.get(source) === target) {
      const bytes = target.backlog[0] as Uint8Array;
      const { outcome, message, consumed, error } = target.framer.push(bytes, 0);
      if (outcome === 'blocked') {
        this.#world.coverage.add('poolExhausted');
        target.backlog[0] = bytes.subarray(consumed);
        this.#user.retryLater(() => this.#drain(source, target));
        return;
      }
      check(error === null, 'message-misuse', () => `framer refuses a message: ${error?.kind}`);
      target.backlog.shift();
      if (message === null) continue;
      this.#user.onMessage(source, outcome === 'oversize' ? 'oversize' : 'message', message);
    }
  }
}
