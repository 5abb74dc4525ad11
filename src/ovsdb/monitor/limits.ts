/** Every limit of monitors, with its unit. */

/** Transactions that a database remembers for clients that come back, unless told otherwise. */
export const HISTORY_MAX = 100;

/** Characters of the updates of one message. The platform's longest string is 2^29 - 24. */
export const UPDATES_TEXT_MAX: number = 2 ** 29 - 2 ** 22;

/** Characters of a monitor's id, which is in each of its messages. */
export const ID_TEXT_MAX: number = 2 ** 20;

/** Whole messages of one update that are kept, each for the monitors of one id. */
export const MESSAGES_KEPT_MAX = 8;

/** Initial updates of different conditions that are kept until the next change. */
export const CONDITIONAL_INITIALS_MAX = 8;

/** Moments from which clients came back whose differences to now are kept until a change. */
export const RESUMED_MAX = 8;

/** Parts into which a large table's initial text is cut; a changed row costs its part only. */
export const INITIAL_PARTS = 256;

/** Rows from which on a table's initial text is cut. */
export const INITIAL_CUT_ROWS = 1024;

/** Commits that change a shape's tables after which an initial text nobody asked for is dropped. */
export const INITIAL_IDLE_COMMITS = 1000;
