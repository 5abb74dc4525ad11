/**
 * Writes the whole of a database into a new file in slices of a few milliseconds, between which
 * everybody else has the process.
 *
 * A record's length stands in front of it and is only known behind it. A small record waits in
 * memory; for a large one room is left for the header, and its length gets leading zeros.
 */
import { createHash, hash } from 'node:crypto';
import type { Replacement } from '../../../io/append-file/index.ts';
import {
  encodeRecord,
  encodeUtf8,
  formatHeader,
  LENGTH_DIGITS_MAX,
  type Sha1,
  type Snapshot,
  type SnapshotNotes,
  schemaText,
  snapshotText,
} from '../../../ovsdb/index.ts';

/** A slice ends after this time or this much text, whichever comes first. */
const SLICE_MS = 4;
const SLICE_LENGTH = 256 * 1024;
/** Bytes of a record that may wait in memory for the end. */
const SMALL_SIZE_MAX = 1024 * 1024;

export const sha1: Sha1 = (bytes) => hash('sha1', bytes, 'hex');

/** Thrown between two slices when `stop` says so. */
export class SnapshotStopped extends Error {}

/** Both records. @throws SnapshotStopped, or what the system said */
export async function writeSnapshot(
  file: Replacement,
  snapshot: Snapshot,
  notes: SnapshotNotes,
  stop: () => boolean,
): Promise<void> {
  await file.write(encodeRecord('JSON', schemaText(snapshot.schema), sha1));
  const body = new RecordBody(file);
  for (const text of slices(snapshotText(snapshot, notes))) {
    await body.add(encodeUtf8(text));
    if (stop()) throw new SnapshotStopped();
    // A write that completes at once is no pause.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await body.end();
}

/** Joins pieces to texts that take about the time of a slice to make. */
function* slices(pieces: Iterable<string>): Generator<string> {
  let text: string[] = [];
  let length = 0;
  let startMs = performance.now();
  for (const piece of pieces) {
    text.push(piece);
    length += piece.length;
    if (length < SLICE_LENGTH && performance.now() - startMs < SLICE_MS) continue;
    yield text.join('');
    text = [];
    length = 0;
    startMs = performance.now();
  }
  yield `${text.join('')}\n`;
}

class RecordBody {
  readonly #file: Replacement;
  readonly #hash = createHash('sha1');
  /** Where the header goes. */
  readonly #offset: number;
  /** What is not in the file yet; `null`: everything is, and room for the header. */
  #small: Uint8Array[] | null = [];
  #length: number = 0;

  constructor(file: Replacement) {
    this.#file = file;
    this.#offset = file.size;
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    this.#length += bytes.length;
    if (this.#small === null) {
      await this.#file.write(bytes);
      return;
    }
    this.#small.push(bytes);
    if (this.#length <= SMALL_SIZE_MAX) return;
    await this.#file.write(this.#header('0'.repeat(40)));
    for (const piece of this.#small) await this.#file.write(piece);
    this.#small = null;
  }

  async end(): Promise<void> {
    const digest = this.#hash.digest('hex');
    if (this.#small === null) {
      await this.#file.write(this.#header(digest), this.#offset);
      return;
    }
    await this.#file.write(encodeUtf8(formatHeader('JSON', this.#length, digest)));
    for (const piece of this.#small) await this.#file.write(piece);
  }

  /** Of one size, whatever the length. */
  #header(digest: string): Uint8Array {
    const digits = String(this.#length).padStart(LENGTH_DIGITS_MAX, '0');
    return encodeUtf8(formatHeader('JSON', digits, digest));
  }
}
