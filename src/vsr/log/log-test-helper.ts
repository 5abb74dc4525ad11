/** Prepares and the places they go to, for tests of the log and of its journal. */
import type { Effect } from '../../engine/index.ts';
import { assert, U64_ZERO, writeU32 } from '../../stdx/index.ts';
import {
  HEADER_SIZE,
  type Message,
  MessagePool,
  Offset,
  sealBody,
  sealHeader,
} from '../../wire/index.ts';
import type { Geometry } from '../file/geometry.ts';
import type { Member } from '../member.ts';
import { buildPrepare } from '../message.ts';
import { Outbox } from '../outbox.ts';
import { Journal } from './journal.ts';
import { Log, opOf } from './log.ts';

export const GEOMETRY: Geometry = { slots: 40, slotSize: 8192, requestSizeMax: 8192 };

export interface PrepareFields {
  readonly op: number;
  readonly view?: number;
  /** Checksum of the one before. Default zero. */
  readonly parent?: Uint8Array;
  /** Bytes behind the header. Default 0. */
  readonly bodySize?: number;
  /** Content of the body: two prepares with other bodies are two. */
  readonly fill?: number;
}

/** A sealed prepare in `bytes`. */
export function fillPrepare(bytes: Uint8Array, fields: PrepareFields, pool: MessagePool): void {
  const { op, view = 1, parent = new Uint8Array(16), bodySize = 0, fill = 1 } = fields;
  const author = { cluster: new Uint8Array(16).fill(1), view, replica: 0, release: 1 };
  const checkpointId = new Uint8Array(16);
  const position = { op, parent, checkpointId, commit: 0, timestamp: U64_ZERO };
  buildPrepare(bytes, 128, author, position, pool.checksum);
  writeU32(bytes, Offset.size, HEADER_SIZE + bodySize);
  bytes.fill(fill, HEADER_SIZE, HEADER_SIZE + bodySize);
  sealBody(bytes, pool.checksum);
  sealHeader(bytes, pool.checksum);
}

export function makePool(): MessagePool {
  const slots = { requestSlots: 48, replySlots: 0, smallSlots: 0 };
  return new MessagePool({ requestSlotSize: GEOMETRY.slotSize, ...slots, poison: true });
}

/** A log that takes itself for the one of `view`, which may be changed. */
export function makeLog(
  slots: number,
  view: number = 1,
): { log: Log; member: { logView: number } } {
  const member = { logView: view };
  return { log: new Log(slots, member as Member), member };
}

export type Flight = Effect & { readonly type: 'write' | 'read' };

/** A journal on a disk that does only what it is told, in whatever order. */
export class JournalBench {
  readonly pool: MessagePool = makePool();
  readonly outbox: Outbox = new Outbox();
  readonly log: Log;
  readonly member: { logView: number };
  readonly journal: Journal;
  readonly durable: number[] = [];
  readonly damaged: number[] = [];
  /** Asked for and not done, in order. */
  readonly flights: Flight[] = [];
  readonly disk: Map<number, Uint8Array> = new Map();

  constructor(isSolo: boolean = false) {
    const { log, member } = makeLog(GEOMETRY.slots);
    this.log = log;
    this.member = member;
    const { pool, outbox } = this;
    this.journal = new Journal({
      geometry: GEOMETRY,
      outbox,
      pool,
      log,
      isSolo,
      sectors: new Uint8Array(GEOMETRY.slots * 4096),
      onDurable: (op) => this.durable.push(op),
      onDamage: (op) => {
        this.damaged.push(op);
        log.markFaulty(op);
      },
    });
  }

  /** One reference, the caller's. */
  make(fields: PrepareFields): Message {
    const message = this.pool.acquire('request');
    assert(message !== null, 'JournalBench: no message');
    fillPrepare(message.bytes, fields, this.pool);
    return message;
  }

  /** Puts a prepare into the log, at its head or in the place of another, and has it written. */
  put(message: Message): void {
    this.step(() => {
      const op = opOf(message.bytes);
      if (op > this.log.head) this.log.append(message.bytes);
      else this.log.set(message.bytes);
      this.journal.write(message);
    });
  }

  /** A step of the replica. */
  step(action: () => void): void {
    this.outbox.begin({ monoNs: 0, wall: U64_ZERO });
    action();
    this.journal.pump();
    this.journal.invariants();
    this.log.invariants();
    for (const effect of this.outbox.effects()) {
      if (effect.type === 'write' || effect.type === 'read') this.flights.push(effect);
    }
  }

  /** The so-manieth thing that is on its way gets there. */
  finish(index: number = 0): void {
    const [flight] = this.flights.splice(index, 1);
    assert(flight !== undefined, 'JournalBench: nothing is on its way');
    if (flight.type === 'write') {
      this.disk.set(flight.offset, flight.bytes.slice());
      this.step(() => this.journal.onWritten(flight.token));
    } else {
      const bytes = this.disk.get(flight.offset)?.slice() ?? new Uint8Array(flight.length);
      this.step(() => this.journal.onRead(flight.token, bytes));
    }
  }

  finishAll(): void {
    while (this.flights.length > 0) this.finish();
  }

  /** Ends it; asserts that it has given everything back. `held`: prepares of the test. */
  end(...held: readonly Message[]): void {
    this.journal.releaseMessages();
    for (const message of held) this.pool.release(message);
    assert(this.pool.leaked() === 0, 'JournalBench: messages leaked');
  }
}
