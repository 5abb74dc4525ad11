/**
 * What to make of one log slot after a crash: the decision table, as data. A slot is two things on
 * disk, the prepare and its header in the header ring; each may be damaged, reserved (empty) or
 * hold an operation. Exactly one row fits every combination; a test enumerates them all.
 *
 * The order of writing is what gives a row its meaning: body first, header only when the body is
 * durable. A header without its body is therefore damage, and a body without its header is a write
 * that a crash interrupted.
 */
import { assert } from '../../stdx/index.ts';

/** `bad`: checksum, cluster, command or slot is wrong, so whatever it was is unknown. */
export type RingState = 'bad' | 'reserved' | 'valid';

export interface SlotInput {
  /** In the header ring. */
  readonly header: RingState;
  /** In the prepare ring. */
  readonly prepare: RingState;
  /** The header's op lies above what the superblock's checkpoint allows. Only if valid. */
  readonly headerIsBeyond: boolean;
  /** The prepare's op does. Only if valid. */
  readonly prepareIsBeyond: boolean;
  /** The prepare has the highest op of both rings. Only if valid. */
  readonly prepareIsOpMax: boolean;
  /** The header's op against the prepare's; `forked`: equal ops, other checksums. Only if both. */
  readonly relation: 'below' | 'same' | 'forked' | 'above';
}

/**
 * - `nil`: empty, and known to be.
 * - `ok`: the operation is there.
 * - `fix`: the body is right, the header is not: write the header again.
 * - `cut`: belongs to a log that this replica has not joined; forget it.
 * - `torn`: a write that a crash interrupted, if nothing speaks against it; otherwise damage.
 * - `lost`: damage; get it from another replica, or, alone, refuse to start if it was needed.
 */
export type SlotDecision = 'nil' | 'ok' | 'fix' | 'cut' | 'torn' | 'lost';

interface Row {
  readonly name: string;
  readonly header: RingState | '*';
  readonly prepare: RingState | '*';
  readonly when: Partial<SlotInput>;
  /** With other replicas to ask. */
  readonly cluster: SlotDecision;
  /** Alone (R = 1). What cannot happen there counts as damage. */
  readonly solo: SlotDecision;
}

const within = { headerIsBeyond: false, prepareIsBeyond: false } as const;

const rows: readonly Row[] = [
  row('A', 'bad', 'bad', {}, 'lost', 'lost'),
  row('B', 'reserved', 'bad', {}, 'torn', 'torn'),
  row('C', 'valid', 'bad', {}, 'torn', 'torn'),
  row('D', 'bad', 'reserved', {}, 'lost', 'fix'),
  row('E', 'bad', 'valid', { prepareIsOpMax: false, prepareIsBeyond: false }, 'lost', 'fix'),
  row('F', 'bad', 'valid', { prepareIsOpMax: true, prepareIsBeyond: false }, 'fix', 'fix'),
  row('G', 'reserved', 'valid', { prepareIsBeyond: false }, 'fix', 'fix'),
  row('H', '*', 'valid', { prepareIsBeyond: true }, 'cut', 'lost'),
  row('I', 'valid', 'valid', { headerIsBeyond: true, prepareIsBeyond: false }, 'cut', 'lost'),
  row('J', 'valid', 'reserved', { headerIsBeyond: true }, 'cut', 'lost'),
  row('K', 'valid', 'reserved', { headerIsBeyond: false }, 'lost', 'lost'),
  row('L', 'reserved', 'reserved', {}, 'nil', 'nil'),
  row('M', 'valid', 'valid', { ...within, relation: 'below' }, 'fix', 'fix'),
  row('N', 'valid', 'valid', { ...within, relation: 'above' }, 'lost', 'lost'),
  row('O', 'valid', 'valid', { ...within, relation: 'forked' }, 'lost', 'lost'),
  row('P', 'valid', 'valid', { ...within, relation: 'same' }, 'ok', 'ok'),
];

/** The row and the decision; `isSolo`: there is no other replica to ask. */
export function decideSlot(
  input: SlotInput,
  isSolo: boolean,
): { readonly row: string; readonly decision: SlotDecision } {
  const fitting = rowsFitting(input);
  assert(fitting.length === 1, 'decideSlot: the table is not exhaustive and exclusive');
  const found = fitting[0];
  return { row: found.name, decision: isSolo ? found.solo : found.cluster };
}

/** All rows that fit, which must be one; apart from {@link decideSlot} for the test. */
export function rowsFitting(input: SlotInput): readonly Row[] {
  return rows.filter((candidate) => {
    const { header, prepare, when } = candidate;
    if (header !== '*' && header !== input.header) return false;
    if (prepare !== '*' && prepare !== input.prepare) return false;
    if ((when.headerIsBeyond ?? input.headerIsBeyond) !== input.headerIsBeyond) return false;
    if ((when.prepareIsBeyond ?? input.prepareIsBeyond) !== input.prepareIsBeyond) return false;
    if ((when.prepareIsOpMax ?? input.prepareIsOpMax) !== input.prepareIsOpMax) return false;
    if ((when.relation ?? input.relation) !== input.relation) return false;
    return true;
  });
}

function row(
  name: string,
  header: RingState | '*',
  prepare: RingState | '*',
  when: Partial<SlotInput>,
  cluster: SlotDecision,
  solo: SlotDecision,
): Row {
  return { name, header, prepare, when, cluster, solo };
}
