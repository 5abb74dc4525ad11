/** Gathers what one step asks for, in order, and knows the time of the step. */

import type { Effect, Status, TraceLevel } from './effect.ts';
import type { ServerId } from './entry.ts';
import type { Token } from './event.ts';
import type { Msg } from './message.ts';

export class Outbox<T> {
  #effects: Effect<T>[] = [];
  #nowMs: number = 0;

  /** Of the current step. */
  get nowMs(): number {
    return this.#nowMs;
  }

  begin(nowMs: number): void {
    this.#effects = [];
    this.#nowMs = nowMs;
  }

  effects(): readonly Effect<T>[] {
    return this.#effects;
  }

  emit(effect: Effect<T>): void {
    this.#effects.push(effect);
  }

  /** At once; what has to wait for the disk goes through `Storage.send`. */
  send(peer: ServerId, message: Msg<T>): void {
    this.emit({ type: 'send', peer, address: '', message });
  }

  /** To whoever answers at an address. */
  sendToAddress(address: string, message: Msg<T>): void {
    this.emit({ type: 'send', peer: null, address, message });
  }

  complete(command: Token, status: Status, index: number = 0): void {
    this.emit({ type: 'complete', command, status, index });
  }

  trace(
    level: TraceLevel,
    event: string,
    fields: { readonly [name: string]: string | number | boolean } = {},
  ): void {
    this.emit({ type: 'trace', level, event, fields });
  }
}
