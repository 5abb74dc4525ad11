/**
 * Messages that an engine has given away and that have not left yet. The bytes that leave are those
 * that were there when the engine said so; a message that changes in between is an engine's
 * mistake. What a process takes with it when it dies is given back to the pool.
 */
import { type Message, type MessagePool, readSize } from '../../wire/index.ts';
import { check } from '../world/failure.ts';
import { sameContent } from '../world/same-bytes.ts';

export class Departures {
  /** How often each is on its way out. */
  readonly #leaving: Map<Message, number> = new Map();

  /** Takes the effect's reference; the result gives it back and says what leaves. */
  begin(message: Message, pool: MessagePool): () => Uint8Array {
    const bytes = message.bytes.slice(0, readSize(message.bytes));
    this.#leaving.set(message, (this.#leaving.get(message) ?? 0) + 1);
    return () => {
      const isSame = sameContent(bytes, message.bytes.subarray(0, bytes.length));
      check(isSame, 'message-misuse', () => 'a message changed after it was sent');
      const left = (this.#leaving.get(message) ?? 0) - 1;
      if (left === 0) this.#leaving.delete(message);
      else this.#leaving.set(message, left);
      pool.release(message);
      return bytes;
    };
  }

  /** The process is gone: none of them leaves any more. */
  clear(pool: MessagePool): void {
    for (const [message, times] of this.#leaving) {
      for (let i = 0; i < times; i++) pool.release(message);
    }
    this.#leaving.clear();
  }
}
