/**
 * A client's line with a stopwatch in it: how long each request takes from its first transmission
 * to the first answer.
 */
import { readU32 } from '../../stdx/index.ts';
import { Command, ReplyOffset, RequestOffset, readCommand } from '../../wire/index.ts';
import type { ClientLine, LineUser } from '../clients/line.ts';
import type { World } from '../world/world.ts';

export class TimedLine implements ClientLine {
  readonly #world: World;
  readonly #line: ClientLine;
  readonly #onAnswer: (latencyNs: number) => void;
  /** Number of the request under way; −1: none. */
  #request: number = -1;
  #sentNs: number = 0;

  constructor(world: World, line: ClientLine, onAnswer: (latencyNs: number) => void) {
    this.#world = world;
    this.#line = line;
    this.#onAnswer = onAnswer;
  }

  get isOpen(): boolean {
    return this.#line.isOpen;
  }

  start(user: LineUser): void {
    this.#line.start({
      onOpen: () => user.onOpen(),
      onBytes: (bytes) => {
        this.#onBytes(bytes);
        user.onBytes(bytes);
      },
    });
  }

  request(view: number, bytes: Uint8Array): void {
    const number = readU32(bytes, RequestOffset.request);
    if (number !== this.#request) {
      this.#request = number;
      this.#sentNs = this.#world.nowNs;
    }
    this.#line.request(view, bytes);
  }

  ping(bytes: Uint8Array): void {
    this.#line.ping(bytes);
  }

  hangUp(): void {
    this.#line.hangUp();
  }

  describe(): string {
    return this.#line.describe();
  }

  #onBytes(bytes: Uint8Array): void {
    if (readCommand(bytes) !== Command.reply) return;
    if (readU32(bytes, ReplyOffset.request) !== this.#request) return;
    this.#request = -1;
    this.#onAnswer(this.#world.nowNs - this.#sentNs);
  }
}
