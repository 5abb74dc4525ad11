/**
 * Assertions stay on in production: a replica that has lost its mind must stop, not go on.
 * The message is a constant string: a template would be built on every call, hit or miss.
 */

/** Thrown by {@link assert}: a programmer error, never caught and never an answer to a client. */
export class AssertionError extends Error {
  override readonly name: string = 'AssertionError';
  readonly code: string = 'ERR_ASSERTION';
}

/** Crashes unless `condition` holds. */
export function assert(condition: boolean, message?: string): asserts condition {
  if (!condition) fail(message);
}

/** A branch that cannot be reached; with `never` as argument it proves a switch exhaustive. */
export function unreachable(value?: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}

function fail(message: string | undefined): never {
  throw new AssertionError(message ?? 'assertion failed');
}
