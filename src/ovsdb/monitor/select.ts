/**
 * What a monitor wants to hear of (RFC 7047 §4.1.5, "select"), as bits: a table's are the union of
 * its columns'.
 */
export const Select = {
  initial: 1,
  insert: 2,
  delete: 4,
  modify: 8,
} as const;

export type UpdateKind = keyof typeof Select;

export const SELECT_ALL = 15;

/** Any change after the initial reply. */
export const SELECT_CHANGES = 14;
