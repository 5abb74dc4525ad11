/**
 * Puts <table-updates> together from the text of row updates, and watches that the whole still fits
 * into a string.
 */
import { quote } from '../json/serialize.ts';
import { UPDATES_TEXT_MAX } from './limits.ts';

/** Thrown by {@link UpdatesText}: more than one message can carry. */
export class UpdatesTooLong extends Error {
  override readonly name: string = 'UpdatesTooLong';
  readonly code: string = 'ERR_UPDATES_TOO_LONG';

  constructor() {
    super('updates are longer than a message may be');
  }
}

export class UpdatesText {
  readonly #max: number;
  readonly #parts: string[] = [];
  #rows: string[] = [];
  #length: number = 0;

  constructor(max: number = UPDATES_TEXT_MAX) {
    this.#max = max;
  }

  /** `update`: its text, `null`: the row has nothing to say. */
  row(uuid: string, update: string | null): void {
    if (update !== null) this.rows(`"${uuid}":${update}`);
  }

  /** The members of one or several rows, separated by commas. */
  rows(members: string): void {
    this.#length += members.length + 1;
    if (this.#length > this.#max) throw new UpdatesTooLong();
    this.#rows.push(members);
  }

  /** Ends the rows of one table; without any it is left out. */
  table(name: string): void {
    if (this.#rows.length === 0) return;
    this.#length += name.length + 6;
    this.#parts.push(`${quote(name)}:{${this.#rows.join(',')}}`);
    this.#rows = [];
  }

  /** The object; `null` without a single row. */
  finish(): string | null {
    return this.#parts.length === 0 ? null : `{${this.#parts.join(',')}}`;
  }
}
