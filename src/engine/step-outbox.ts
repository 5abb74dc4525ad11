/**
 * What one step wants done, collected in one array, and the tokens by which storage completions
 * find their way back: a token names the part of the replica that asked. Also the `now` of the
 * step, so that nobody asks a clock twice.
 *
 * `P`: numbers of the parts of a replica that ask for storage operations, from 0 on.
 */
import { assert, U64_ZERO } from '../stdx/index.ts';
import type { Message } from '../wire/index.ts';
import type { Effect, HaltCode, TraceValue } from './effect.ts';
import type { ConnectionId, Instant, TimerName } from './event.ts';
import { SECTOR_SIZE } from './limits.ts';

export class StepOutbox<P extends number = number> {
  readonly #parts: number;
  readonly #release: ((message: Message) => void) | null;
  #effects: Effect[] = [];
  #now: Instant = { monoNs: 0, wall: U64_ZERO };
  #tokens: number = 0;
  #halted: boolean = false;
  #writes: number = 0;

  /** `parts`: how many. `release` gets the messages that were to be sent after a halt. */
  constructor(parts: number, release: ((message: Message) => void) | null = null) {
    assert(Number.isInteger(parts) && parts > 0, 'StepOutbox: nobody asks for anything');
    this.#parts = parts;
    this.#release = release;
  }

  get now(): Instant {
    return this.#now;
  }

  /** A halt was asked for: nothing that comes after it counts. */
  get halted(): boolean {
    return this.#halted;
  }

  /** Whether this step has asked for a write: it leaves only when the step returns. */
  get hasWrites(): boolean {
    return this.#writes > 0;
  }

  /** Begins a step. */
  begin(now: Instant): void {
    assert(Number.isInteger(now.monoNs) && now.monoNs >= 0, 'Outbox: bad monotonic time');
    this.#now = now;
    this.#effects = [];
    this.#writes = 0;
  }

  effects(): readonly Effect[] {
    return this.#effects;
  }

  /** The part that a token belongs to. */
  partOf(token: number): P {
    const part = token % this.#parts;
    assert(part < this.#parts, 'Outbox: not a token');
    return part as P;
  }

  /** Passes the caller's reference to the driver. */
  send(connection: ConnectionId, message: Message): void {
    assert(message.references > 0, 'Outbox: a message that nobody holds');
    this.#push({ type: 'send', connection, message });
  }

  /** Passes the caller's reference to the driver. */
  sendPeer(replica: number, message: Message): void {
    assert(message.references > 0, 'Outbox: a message that nobody holds');
    this.#push({ type: 'send-peer', replica, message });
  }

  close(connection: ConnectionId, reason: string): void {
    this.#push({ type: 'close', connection, reason });
  }

  write(part: P, offset: number, bytes: Uint8Array, durable: boolean): number {
    assert(offset % SECTOR_SIZE === 0, 'Outbox: write offset is not aligned');
    assert(bytes.length > 0 && bytes.length % SECTOR_SIZE === 0, 'Outbox: write length');
    const token = this.#token(part);
    this.#push({ type: 'write', token, offset, bytes, durable });
    this.#writes++;
    return token;
  }

  read(part: P, offset: number, length: number): number {
    assert(offset % SECTOR_SIZE === 0, 'Outbox: read offset is not aligned');
    assert(length > 0 && length % SECTOR_SIZE === 0, 'Outbox: read length');
    const token = this.#token(part);
    this.#push({ type: 'read', token, offset, length });
    return token;
  }

  flush(part: P): number {
    const token = this.#token(part);
    this.#push({ type: 'flush', token });
    return token;
  }

  timer(timer: TimerName, afterNs: number | null): void {
    this.#push({ type: 'timer', timer, afterNs });
  }

  ready(): void {
    this.#push({ type: 'ready' });
  }

  /** Asks for a new life over the file as it is now; nothing that comes after it counts. */
  restart(): void {
    this.#push({ type: 'restart' });
    this.#halted = true;
  }

  trace(
    level: 'debug' | 'info' | 'warn' | 'error',
    event: string,
    fields: { readonly [name: string]: TraceValue },
  ): void {
    this.#push({ type: 'trace', level, event, fields });
  }

  halt(code: HaltCode, reason: string): void {
    assert(!this.#halted, 'Outbox: halted twice');
    this.#push({ type: 'halt', code, reason });
    this.#halted = true;
  }

  #push(effect: Effect): void {
    if (!this.#halted) {
      this.#effects.push(effect);
    } else if (effect.type === 'send' || effect.type === 'send-peer') {
      this.#release?.(effect.message);
    }
  }

  #token(part: P): number {
    this.#tokens++;
    return this.#tokens * this.#parts + part;
  }
}
