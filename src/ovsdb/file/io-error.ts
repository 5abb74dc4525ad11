/** Errors of files: as others, with what the operating system said beside it. */
import { OvsdbError } from '../data/error.ts';
import type { JsonObject } from '../json/value.ts';

export class OvsdbIoError extends OvsdbError {
  /** In the words of the C library; "End of file" when a file is too short. */
  readonly reason: string;

  constructor(details: string, reason: string) {
    super('I/O error', details);
    this.reason = reason;
  }

  override toJson(): JsonObject {
    return { ...super.toJson(), 'io-error': this.reason };
  }

  override toString(): string {
    return `${super.toString()} (${this.reason})`;
  }
}
