/**
 * Many commands in one request, and as many outcomes in one reply.
 *
 * Request: for each command u32 size, then that many bytes. Reply: for each command, in the same
 * order, u32 size of what follows, u8 status, then the result or, for errors of `apply`, the code,
 * a line feed and the message in UTF-8.
 *
 * No command is executed whose result might not fit: a reply has room for far more than usual, but
 * not for 8,192 results of any size. The first command that could overflow it and all after it are
 * deferred, on every replica alike, and the client sends them again.
 */
import { assert, readU32, writeU32 } from '../../stdx/index.ts';
import { REPLY_BODY_SIZE_MAX } from '../limits.ts';
import {
  COMMANDS_MAX,
  CommandError,
  type CommandFailure,
  type CommandOutcome,
  OUTCOME_HEAD_SIZE,
} from './define-spec.ts';

/** Before each command: its size. */
export const COMMAND_HEAD_SIZE = 4;

const Status = {
  ok: 0,
  error: 1,
  invalid: 2,
  threw: 3,
  tooLarge: 4,
  unwritable: 5,
  deferred: 6,
} as const;
type Status = (typeof Status)[keyof typeof Status];

const failures: ReadonlyMap<number, readonly [CommandFailure, string]> = new Map([
  [Status.invalid, ['ERR_COMMAND_INVALID', 'the command cannot be read']],
  [Status.threw, ['ERR_COMMAND_FAILED', 'the machine failed, what it changed before stays']],
  [Status.tooLarge, ['ERR_RESULT_TOO_LARGE', 'the command was executed, its result is too large']],
  [Status.unwritable, ['ERR_RESULT_INVALID', 'the command was executed, its result is no value']],
]);

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const EMPTY = new Uint8Array(0);

/** Bytes of a request body with these commands. */
export function commandsSize(commands: readonly Uint8Array[]): number {
  return commands.reduce((sum, { length }) => sum + COMMAND_HEAD_SIZE + length, 0);
}

/** The body of a request: 1 … COMMANDS_MAX encoded commands. */
export function packCommands(commands: readonly Uint8Array[]): Uint8Array {
  assert(commands.length > 0 && commands.length <= COMMANDS_MAX, 'packCommands: bad count');
  const body = new Uint8Array(commandsSize(commands));
  let offset = 0;
  for (const command of commands) offset = writeCommand(body, offset, command);
  assert(offset === body.length, 'packCommands: wrong size');
  return body;
}

/** Writes one command into a body; returns where the next one goes. */
export function writeCommand(body: Uint8Array, offset: number, command: Uint8Array): number {
  assert(offset + COMMAND_HEAD_SIZE + command.length <= body.length, 'writeCommand: no room');
  writeU32(body, offset, command.length);
  body.set(command, offset + COMMAND_HEAD_SIZE);
  return offset + COMMAND_HEAD_SIZE + command.length;
}

/** Views of what a body holds, commands or outcomes; `null`: it is not well formed, or empty. */
export function unpack(body: Uint8Array): Uint8Array[] | null {
  const items: Uint8Array[] = [];
  let offset = 0;
  while (offset < body.length) {
    const start = offset + COMMAND_HEAD_SIZE;
    if (start > body.length || items.length === COMMANDS_MAX) return null;
    const end = start + readU32(body, offset);
    if (end > body.length) return null;
    items.push(body.subarray(start, end));
    offset = end;
  }
  return items.length === 0 ? null : items;
}

/** Whether {@link unpack} finds something, without making it. */
export function isPacked(body: Uint8Array): boolean {
  let count = 0;
  let offset = 0;
  while (offset + COMMAND_HEAD_SIZE <= body.length && count < COMMANDS_MAX) {
    offset += COMMAND_HEAD_SIZE + readU32(body, offset);
    count += 1;
  }
  return offset === body.length && count > 0;
}

/** Fills a reply with outcomes, one after another. */
export class OutcomeWriter {
  readonly #reply: Uint8Array;
  readonly #resultSizeMax: number;
  /** Commands that have no outcome yet. */
  #left: number;
  #size: number = 0;

  constructor(reply: Uint8Array, count: number, resultSizeMax: number) {
    assert(count > 0 && count <= COMMANDS_MAX, 'OutcomeWriter: bad count');
    this.#reply = reply;
    this.#left = count;
    this.#resultSizeMax = resultSizeMax;
  }

  /** Bytes written so far. */
  get size(): number {
    return this.#size;
  }

  /** Whether the next command may be executed: whatever it answers, there is room for all. */
  get hasRoom(): boolean {
    const needed = this.#left * OUTCOME_HEAD_SIZE + this.#resultSizeMax;
    return this.#size + needed <= REPLY_BODY_SIZE_MAX;
  }

  /** `null`: the result could not be encoded. */
  result(bytes: Uint8Array | null): void {
    if (bytes === null) this.#put(Status.unwritable, EMPTY);
    else if (bytes.length > this.#resultSizeMax) this.#put(Status.tooLarge, EMPTY);
    else this.#put(Status.ok, bytes);
  }

  /** What `apply` threw. Only a {@link CommandError} is the same on every replica. */
  thrown(error: unknown): void {
    if (!(error instanceof CommandError)) this.#put(Status.threw, EMPTY);
    else this.#put(Status.error, encoder.encode(`${error.code}\n${error.message}`));
  }

  invalid(): void {
    this.#put(Status.invalid, EMPTY);
  }

  deferRest(): void {
    while (this.#left > 0) this.#put(Status.deferred, EMPTY);
  }

  #put(status: Status, bytes: Uint8Array): void {
    assert(this.#left > 0, 'OutcomeWriter: more outcomes than commands');
    const reply = this.#reply;
    writeU32(reply, this.#size, 1 + bytes.length);
    reply[this.#size + COMMAND_HEAD_SIZE] = status;
    reply.set(bytes, this.#size + OUTCOME_HEAD_SIZE);
    this.#size += OUTCOME_HEAD_SIZE + bytes.length;
    this.#left -= 1;
    assert(this.#size <= REPLY_BODY_SIZE_MAX, 'OutcomeWriter: the reply is full');
  }
}

/**
 * One item of an unpacked reply.
 * @throws TypeError when it is none, or whatever `decode` throws
 */
export function readOutcome<R>(
  item: Uint8Array,
  decode: (bytes: Uint8Array) => R,
): CommandOutcome<R> {
  const status = item[0];
  const bytes = item.subarray(1);
  if (item.length > 0 && status === Status.ok) return { status: 'ok', result: decode(bytes) };
  if (status === Status.deferred) return { status: 'deferred' };
  if (status === Status.error) {
    const text = decoder.decode(bytes);
    const end = text.indexOf('\n');
    if (end > 0)
      return { status: 'failed', code: text.slice(0, end), message: text.slice(end + 1) };
  }
  const failure = failures.get(status);
  if (failure === undefined) throw new TypeError('the outcome of a command cannot be read');
  return { status: 'failed', code: failure[0], message: failure[1] };
}
