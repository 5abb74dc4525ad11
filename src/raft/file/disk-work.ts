/**
 * What a data file has under way on its disk, by token, and the memory it lies in: slots of the
 * message pool, which direct I/O accepts, held for a whole life.
 */
import type { StorageError } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { Checksum, Message, MessagePool } from '../../wire/index.ts';
import { RAFT_FILE_REPLY_SLOTS } from './layout.ts';

/** Where storage effects go; each returns the token with which the answer comes. */
export interface FileSink {
  /** `bytes` stay unchanged until the answer. */
  write(offset: number, bytes: Uint8Array, durable: boolean): number;
  read(offset: number, length: number): number;
  flush(): number;
}

export interface Write {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly durable: boolean;
  readonly done: () => void;
}

export class DiskWork {
  readonly #pool: MessagePool;
  readonly #sink: FileSink;
  readonly #onError: (error: StorageError) => void;
  readonly #slots: Message[] = [];
  readonly #buffers: Uint8Array[] = [];
  /** Room for one copy of the head. */
  readonly headBuffer: Uint8Array;
  readonly #writes: Map<number, Write> = new Map();
  readonly #flushes: Map<number, () => void> = new Map();
  readonly #reads: Map<number, (bytes: Uint8Array) => void> = new Map();
  /** Writes that found no room. */
  readonly #unplaced: Write[] = [];
  #isOver: boolean = false;

  constructor(pool: MessagePool, sink: FileSink, onError: (error: StorageError) => void) {
    this.#pool = pool;
    this.#sink = sink;
    this.#onError = onError;
    for (let i = 0; i < RAFT_FILE_REPLY_SLOTS; i++) {
      const message = pool.acquire('reply');
      assert(message !== null, 'DiskWork: the pool has too few slots');
      this.#slots.push(message);
      this.#buffers.push(message.bytes);
    }
    const small = pool.acquire('small');
    assert(small !== null, 'DiskWork: the pool has too few small slots');
    this.#slots.push(small);
    this.headBuffer = small.bytes;
  }

  get checksum(): Checksum {
    return this.#pool.checksum;
  }

  /** Room for a frame, until it is given back; `null`: all is in use. */
  takeBuffer(): Uint8Array | null {
    return this.#buffers.pop() ?? null;
  }

  giveBuffer(buffer: Uint8Array): void {
    assert(this.#buffers.length < RAFT_FILE_REPLY_SLOTS, 'DiskWork: not one of its buffers');
    this.#buffers.push(buffer);
  }

  write(write: Write): void {
    const { offset, bytes, durable } = write;
    this.#writes.set(this.#sink.write(offset, bytes, durable), write);
  }

  /** `done` is told when everything that was written before is durable. */
  flush(done: () => void): void {
    this.#flushes.set(this.#sink.flush(), done);
  }

  /** The bytes that `done` gets are valid until it returns. */
  read(offset: number, length: number, done: (bytes: Uint8Array) => void): void {
    this.#reads.set(this.#sink.read(offset, length), done);
  }

  /** Tries again what found no room. */
  retry(): void {
    for (const write of this.#unplaced.splice(0)) this.write(write);
  }

  onWritten(token: number, error: StorageError | null): void {
    const write = take(this.#writes, token);
    if (error === 'no-space') this.#unplaced.push(write);
    if (error !== null) this.#fail(error);
    else if (!this.#isOver) write.done();
  }

  onFlushed(token: number, error: StorageError | null): void {
    const done = take(this.#flushes, token);
    if (error !== null) this.#fail(error);
    else if (!this.#isOver) done();
  }

  onRead(token: number, bytes: Uint8Array, error: StorageError | null): void {
    const done = take(this.#reads, token);
    if (error !== null) this.#fail(error);
    else if (!this.#isOver) done(bytes);
  }

  /** Gives back the slots; nothing counts any more. */
  release(): void {
    for (const message of this.#slots.splice(0)) this.#pool.release(message);
    this.#buffers.length = 0;
    this.#isOver = true;
  }

  #fail(error: StorageError): void {
    if (this.#isOver) return;
    if (error === 'io') this.#isOver = true;
    this.#onError(error);
  }
}

function take<T>(map: Map<number, T>, token: number): T {
  const found = map.get(token);
  assert(found !== undefined, 'DiskWork: nobody waits for this token');
  map.delete(token);
  return found;
}
