/**
 * What may be wrong with a history that comes from outside. A history that is well formed and that
 * no order explains is no error: that is a verdict.
 */

/**
 * - `syntax`: the text is no JSON or no EDN.
 * - `unsupported`: EDN that cannot be part of a value here: sets, characters, symbols, ratios.
 * - `limit`: too long, too deep, too many; see `limits`.
 * - `event`: an event is no map, lacks a field, or has one of the wrong type.
 * - `function`: the format knows no operation of this name.
 * - `value`: a value that this operation cannot have.
 * - `process-busy`: a process begins an operation while another of its operations is open.
 * - `process-idle`: an operation ends that its process has not begun.
 * - `mismatch`: an operation ends under another name than the one it began with.
 * - `time`: no safe integers, going backwards, or given for some events only; a return before its
 *   call.
 */
export type HistoryErrorCode =
  | 'syntax'
  | 'unsupported'
  | 'limit'
  | 'event'
  | 'function'
  | 'value'
  | 'process-busy'
  | 'process-idle'
  | 'mismatch'
  | 'time';

export interface HistoryErrorPlace {
  /** Character of the text, from 0. */
  readonly offset?: number | undefined;
  /** Event or operation, from 0. */
  readonly index?: number | undefined;
}

export class HistoryError extends Error {
  override readonly name: string = 'HistoryError';
  readonly code: HistoryErrorCode;
  /** Character of the text, from 0; `null`: the error is not in the text. */
  readonly offset: number | null;
  /** Event or operation, from 0; `null`: the error belongs to none. */
  readonly index: number | null;

  constructor(code: HistoryErrorCode, message: string, place: HistoryErrorPlace = {}) {
    const { offset = null, index = null } = place;
    const where = offset !== null ? ` at character ${offset}` : '';
    const which = index !== null ? `event ${index}: ` : '';
    super(`${which}${message}${where}`);
    this.code = code;
    this.offset = offset;
    this.index = index;
  }
}

/** Throws a {@link HistoryError} unless `condition` holds. `message` is built only then. */
export function demand(
  condition: boolean,
  code: HistoryErrorCode,
  message: () => string,
  place: HistoryErrorPlace = {},
): asserts condition {
  if (!condition) throw new HistoryError(code, message(), place);
}
