/**
 * From the decisions about single slots to a verdict on the whole log of a single replica (R = 1):
 * where it ends, what is to be repaired, or which operation is lost. Pure.
 *
 * A single replica writes one operation after another, so of the operations after the checkpoint
 * every one up to the highest found must be there. What a crash can leave behind the head is one
 * torn write in the very next slot. Damage in any other slot hits only operations that the
 * checkpoint has made superfluous, and is repaired by emptying the slot.
 */
import { assert } from '../../stdx/index.ts';
import { decideSlot, type RingState, type SlotInput } from './slot-decision.ts';

/** What was found in the two places of one slot. Ops count only where the state is `valid`. */
export interface SlotScan {
  readonly header: RingState;
  readonly headerOp: number;
  readonly prepare: RingState;
  readonly prepareOp: number;
  /** Both are valid and the same bytes. */
  readonly isIdentical: boolean;
}

export type LogResolution =
  | {
      readonly ok: true;
      /** The last operation of the log; the checkpoint's when there is none behind it. */
      readonly head: number;
      /** Slots whose header must be written again from the prepare. */
      readonly fixes: readonly number[];
      /** Slots to be emptied, prepare first. */
      readonly repairs: readonly number[];
      /** The slot of an interrupted write, or −1; the next operation overwrites it. */
      readonly torn: number;
    }
  | {
      readonly ok: false;
      readonly slot: number;
      /** The operation that was, or may have been, acknowledged and is gone. */
      readonly op: number;
      /** Row of the decision table. */
      readonly row: string;
    };

/** `prepareMax`: highest op that the log may hold with this checkpoint. */
export function resolveLog(
  slots: readonly SlotScan[],
  checkpoint: number,
  prepareMax: number,
): LogResolution {
  assert(prepareMax > checkpoint && prepareMax <= checkpoint + slots.length, 'resolveLog: limits');
  const opMax = highestOp(slots);
  const head = Math.max(checkpoint, opMax);
  const fixes: number[] = [];
  const repairs: number[] = [];
  let torn = -1;
  for (let slot = 0; slot < slots.length; slot++) {
    const scan = slots[slot];
    const op = opOfSlot(slot, checkpoint, slots.length);
    const { row, decision } = decideSlot(inputOf(scan, opMax, prepareMax), true);
    const isBeyond = row === 'H' || row === 'I' || row === 'J' || head > prepareMax;
    if (isBeyond) return { ok: false, slot, op: head, row };
    if (op <= head) {
      const isThere = scan.prepare === 'valid' && scan.prepareOp === op;
      if (!isThere || (decision !== 'ok' && decision !== 'fix')) {
        return { ok: false, slot, op, row };
      }
      if (decision === 'fix') fixes.push(slot);
      continue;
    }
    if (decision === 'nil' || decision === 'ok') continue;
    if (op === head + 1) {
      // With both rings bad it may as well have been acknowledged and then destroyed.
      if (row === 'A') return { ok: false, slot, op, row };
      if (decision === 'torn') {
        torn = slot;
        continue;
      }
    }
    repairs.push(slot);
  }
  return { ok: true, head, fixes, repairs, torn };
}

/** The only op above the checkpoint that can be in this slot. */
export function opOfSlot(slot: number, checkpoint: number, slots: number): number {
  const first = checkpoint + 1;
  return first + ((((slot - first) % slots) + slots) % slots);
}

/** The highest op in either ring. */
export function highestOp(slots: readonly SlotScan[]): number {
  let opMax = 0;
  for (const scan of slots) {
    if (scan.header === 'valid') opMax = Math.max(opMax, scan.headerOp);
    if (scan.prepare === 'valid') opMax = Math.max(opMax, scan.prepareOp);
  }
  return opMax;
}

/** A slot as the decision table wants it. */
export function inputOf(scan: SlotScan, opMax: number, prepareMax: number): SlotInput {
  const { header, headerOp, prepare, prepareOp } = scan;
  const byOp = headerOp < prepareOp ? 'below' : headerOp > prepareOp ? 'above' : 'forked';
  return {
    header,
    prepare,
    headerIsBeyond: header === 'valid' && headerOp > prepareMax,
    prepareIsBeyond: prepare === 'valid' && prepareOp > prepareMax,
    prepareIsOpMax: prepare === 'valid' && prepareOp === opMax,
    relation: scan.isIdentical ? 'same' : byOp,
  };
}
