/**
 * Limits of the checker and of histories in text, each declared once.
 */

/** Operations of one history. */
export const OPERATIONS_MAX = 1_000_000;
/** Attempts to put an operation next, of all parts together, unless the caller says otherwise. */
export const STEPS_MAX_DEFAULT = 20_000_000;
/** Memory for what has been tried, of one part at a time, unless the caller says otherwise. */
export const MEMORY_BYTES_MAX_DEFAULT: number = 256 * 1024 * 1024;
/** Memory taken for a state whose model does not say its size. */
export const STATE_BYTES_DEFAULT = 64;
/** Characters of a history in text. */
export const TEXT_LENGTH_MAX: number = 256 * 1024 * 1024;
/** Events of a history in text: calls, returns, failures, unknown outcomes. */
export const EVENTS_MAX: number = 2 * OPERATIONS_MAX;
/** Collections within collections in a value. */
export const VALUE_DEPTH_MAX = 32;
/** States that a nondeterministic model may be in at once. */
export const STATES_AT_ONCE_MAX = 4096;
