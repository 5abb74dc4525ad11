/** A recording as it is read: record after record, up to its end or to where it was cut off. */
import { closeSync, openSync, readSync } from 'node:fs';
import { systemCode } from '../../io/index.ts';
import { bytesEqual, readU32 } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { RecordingError } from './errors.ts';
import {
  EndReason,
  FILE_HEAD_SIZE,
  MAGIC,
  PAYLOAD_SIZE_MAX,
  payloadSum,
  RECORD_HEAD_SIZE,
  RecordKind,
  VERSION,
} from './format.ts';

/**
 * How a recording ends: as it should; because it was full; in the middle of a record, as when the
 * process was killed; with bytes that are not what was recorded.
 */
export type RecordingEnd = 'closed' | 'full' | 'cut-off' | 'damaged';

export type RecordRead =
  /** `payload` begins with the kind; valid until the next one is read. */
  | { readonly kind: 'life' | 'step'; readonly payload: Uint8Array; readonly offset: number }
  | { readonly kind: 'end'; readonly end: RecordingEnd; readonly offset: number };

export class RecordFile {
  readonly #path: string;
  readonly #file: number;
  readonly #head: Uint8Array = new Uint8Array(RECORD_HEAD_SIZE);
  #payload: Uint8Array = new Uint8Array(65_536);
  #offset: number = FILE_HEAD_SIZE;

  /** @throws RecordingError */
  constructor(path: string) {
    this.#path = path;
    this.#file = openFile(path);
    const head = new Uint8Array(FILE_HEAD_SIZE);
    const isWhole = this.#read(head, 0, FILE_HEAD_SIZE);
    const isOurs = isWhole && bytesEqual(head, 0, MAGIC, 0, MAGIC.length);
    if (isOurs && readU32(head, MAGIC.length) === VERSION) return;
    this.close();
    const reason = isOurs ? 'is of another version' : 'is no recording';
    throw new RecordingError('ERR_RECORDING_UNREADABLE', path, reason);
  }

  next(): RecordRead {
    const offset = this.#offset;
    if (!this.#read(this.#head, offset, RECORD_HEAD_SIZE)) return this.#end('cut-off');
    const size = readU32(this.#head, 0);
    if (size === 0 || size > PAYLOAD_SIZE_MAX) return this.#end('damaged');
    if (size > this.#payload.length) this.#payload = new Uint8Array(size * 2);
    if (!this.#read(this.#payload, offset + RECORD_HEAD_SIZE, size)) return this.#end('cut-off');
    const payload = this.#payload.subarray(0, size);
    if (payloadSum(payload, checksum) !== readU32(this.#head, 4)) return this.#end('damaged');
    switch (payload[0]) {
      case RecordKind.life:
      case RecordKind.step:
        this.#offset += RECORD_HEAD_SIZE + size;
        return { kind: payload[0] === RecordKind.life ? 'life' : 'step', payload, offset };
      case RecordKind.end:
        return this.#end(payload[1] === EndReason.full ? 'full' : 'closed');
      default:
        return this.#end('damaged');
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #end(end: RecordingEnd): RecordRead {
    return { kind: 'end', end, offset: this.#offset };
  }

  /** Whether there were so many bytes. */
  #read(target: Uint8Array, position: number, length: number): boolean {
    let count = 0;
    try {
      while (count < length) {
        const got = readSync(this.#file, target, count, length - count, position + count);
        if (got === 0) return false;
        count += got;
      }
    } catch (error) {
      throw unreadable(this.#path, error);
    }
    return true;
  }
}

const checksum = createChecksum();

function openFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): RecordingError {
  const reason = `cannot be read: ${systemCode(error) || String(error)}`;
  return new RecordingError('ERR_RECORDING_UNREADABLE', path, reason, error);
}
