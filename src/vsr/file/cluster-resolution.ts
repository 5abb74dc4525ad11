/**
 * From the decisions about single slots to a verdict on the whole log of a replica that has others
 * to ask (R > 1). Pure. Nothing here is fatal: what is lost comes from the others. What matters is
 * not to deny having had an operation that was acknowledged and is lost, and yet to know a write
 * that a crash interrupted from such a loss, or a cluster that loses power could never decide where
 * its log ends.
 *
 * - *clean*: the slot holds this operation. *empty*: it holds nothing that counts; whatever was
 *   being written there was never acknowledged. *faulty*: something may have been acknowledged.
 * - An operation is acknowledged when its header is durable, and that comes after its body. So
 *   a damaged body under a header of an earlier operation is a torn write. At most P writes are
 *   under way at once; where there are more of these, or other damage lies behind the head, none is
 *   believed.
 * - A complete body under a damaged header is what the slot holds, the body came first; if the
 *   operation is one of the last, of which it is known which view they must be of.
 * - Operations that the log's view headers rule out were cut off by a view change: they are not
 *   there. A header ring entry that is ruled out is as good as one of an earlier operation.
 *
 * The head is the highest operation found, or the one that the superblock says the log reached. It
 * is certain when no slot behind it is faulty. Where all that the superblock tells lies beyond what
 * the slots may hold, the log fills them up to their end, and no operation found in them can be
 * taken for its head: it may be left from the log of an older view.
 */
import { PIPELINE_MAX } from '../../engine/index.ts';
import { assert, readSafeU64 } from '../../stdx/index.ts';
import { PrepareOffset, readView } from '../../wire/index.ts';
import { OPERATION_RESERVED } from '../message.ts';
import { highestOp, inputOf, opOfSlot, type SlotScan } from './log-resolution.ts';
import { decideSlot, type SlotDecision } from './slot-decision.ts';
import { isPossible } from './view-range.ts';

/** What was found in a slot, with the two headers (256 bytes each, meaningful where valid). */
export interface ClusterSlotScan extends SlotScan {
  readonly headerBytes: Uint8Array;
  readonly prepareBytes: Uint8Array;
}

export interface ClusterScan {
  readonly slots: readonly ClusterSlotScan[];
  /** Op of the superblock's checkpoint, and the highest op that the log may hold with it. */
  readonly checkpoint: number;
  readonly prepareMax: number;
  /** From the superblock. */
  readonly view: number;
  readonly logView: number;
  readonly viewHeaders: readonly Uint8Array[];
}

export type ResolvedSlot =
  | { readonly kind: 'clean'; readonly op: number; readonly header: Uint8Array }
  | { readonly kind: 'empty' }
  /** `row`: of the decision table. */
  | { readonly kind: 'faulty'; readonly row: string };

export interface ClusterResolution {
  readonly slots: readonly ResolvedSlot[];
  /** Slots whose header must be written again, from the slot's header here. */
  readonly fixes: readonly number[];
  /** Slots that hold something on disk which does not count; nothing is written there. */
  readonly cuts: readonly number[];
  /** The last operation of the log; never below the checkpoint. */
  readonly head: number;
  /** Its header, if it is known: from its slot or from the superblock. */
  readonly headHeader: Uint8Array | null;
  /**
   * Not certain: a later operation may have been acknowledged here. Then this replica must not
   * vote.
   */
  readonly isHeadCertain: boolean;
  /** Every slot is faulty: this is not the log any more. */
  readonly isLost: boolean;
}

/** A slot on the way to its verdict. */
interface Judged {
  readonly slot: number;
  /** The one op above the checkpoint that can be in the slot. */
  readonly op: number;
  readonly row: string;
  readonly found: ClusterSlotScan;
  decision: SlotDecision;
}

export function resolveCluster(scan: ClusterScan): ClusterResolution {
  const { checkpoint, prepareMax, slots, view, logView } = scan;
  assert(prepareMax > checkpoint && prepareMax <= checkpoint + slots.length, 'resolveCluster: ops');
  assert(logView <= view, 'resolveCluster: views');
  const opMax = highestOp(slots);
  const judged = slots.map((found, slot) => judge(scan, found, slot, opMax));
  judgeTorn(judged, scan);
  const resolved = judged.map(({ decision, row, found }): ResolvedSlot => {
    if (decision === 'lost') return { kind: 'faulty', row };
    if (decision !== 'ok' && decision !== 'fix') return { kind: 'empty' };
    return { kind: 'clean', op: found.prepareOp, header: found.prepareBytes };
  });
  const { head, headHeader, isKnown } = findHead(scan, resolved);
  const fixes: number[] = [];
  const cuts: number[] = [];
  judged.forEach(({ decision, found, slot }) => {
    if (decision === 'cut' || decision === 'torn') cuts.push(slot);
    if (resolved[slot].kind !== 'clean') return;
    if (found.prepareOp > head) {
      resolved[slot] = { kind: 'empty' };
      cuts.push(slot);
    } else if (decision === 'fix') fixes.push(slot);
  });
  const isHeadCertain = isKnown || !hasFaulty(scan, resolved, head);
  const isLost = resolved.every((slot) => slot.kind === 'faulty');
  return { slots: resolved, fixes, cuts, head, headHeader, isHeadCertain, isLost };
}

/** The table's decision, corrected by the view headers. Whether a write was torn is still open. */
function judge(scan: ClusterScan, found: ClusterSlotScan, slot: number, opMax: number): Judged {
  const { decision, row } = decideSlot(inputOf(found, opMax, scan.prepareMax), false);
  const op = opOfSlot(slot, scan.checkpoint, scan.slots.length);
  return { slot, op, row, found, decision: corrected(scan, found, row, decision) };
}

function corrected(
  scan: ClusterScan,
  found: ClusterSlotScan,
  row: string,
  decision: SlotDecision,
): SlotDecision {
  if (row === 'E' || row === 'F') {
    // The body came first. But an old one does not say what came after it: one from before the
    // checkpoint, or one that the view headers, which go down to what is committed, do not reach.
    const opMin = Math.max(scan.checkpoint + 1, opOldest(scan));
    return found.prepareOp >= opMin && isIn(scan, found.prepareBytes) ? 'fix' : 'lost';
  }
  if (row === 'O') {
    // The same op in two views; the body was written later. What the header was of is overwritten.
    if (!isCutOff(scan, found.headerBytes)) return 'lost';
    if (isIn(scan, found.prepareBytes)) return 'fix';
    return isCutOff(scan, found.prepareBytes) ? 'cut' : 'lost';
  }
  if (decision !== 'ok' && decision !== 'fix') return decision;
  if (isIn(scan, found.prepareBytes)) return decision;
  return isCutOff(scan, found.prepareBytes) ? 'cut' : 'lost';
}

/** Tells torn writes from damage. */
function judgeTorn(judged: readonly Judged[], scan: ClusterScan): void {
  const { prepareMax, checkpoint } = scan;
  for (const one of judged) {
    if (one.decision !== 'torn') continue;
    const isEarlier = one.found.header === 'reserved' || one.found.headerOp < one.op;
    const isOld = isEarlier || isCutOff(scan, one.found.headerBytes);
    if (!isOld || one.op > prepareMax) one.decision = 'lost';
  }
  let opMax = checkpoint;
  for (const { decision, found } of judged) {
    if (decision === 'ok' || decision === 'fix') opMax = Math.max(opMax, found.prepareOp);
  }
  let torn = 0;
  let isDoubtful = false;
  for (const one of judged) {
    // Far below the head everything is committed, and had better be fetched again.
    if (one.decision === 'torn' && one.op <= opMax - PIPELINE_MAX) one.decision = 'lost';
    const isBehind = one.op > opMax && one.op <= prepareMax;
    if (isBehind && one.decision === 'torn') torn++;
    if (isBehind && one.decision === 'lost') isDoubtful = true;
    if (one.row === 'H' || one.row === 'I' || one.row === 'J') isDoubtful = true;
  }
  if (!isDoubtful && torn <= PIPELINE_MAX) return;
  for (const one of judged) {
    if (one.decision === 'torn') one.decision = 'lost';
  }
}

/** `isKnown`: the superblock says how far the log reached, whatever its slots say. */
function findHead(
  scan: ClusterScan,
  resolved: readonly ResolvedSlot[],
): { head: number; headHeader: Uint8Array | null; isKnown: boolean } {
  const fitting = scan.viewHeaders.find(
    (header) => !isBlank(header) && opOf(header) <= scan.prepareMax,
  );
  const opFitting = fitting === undefined ? 0 : opOf(fitting);
  const isBeyond = fitting === undefined && scan.viewHeaders.some((header) => !isBlank(header));
  // In a view change, what this replica has said of its log in it counts.
  const isKnown = scan.logView < scan.view && (fitting !== undefined || isBeyond);
  if (isBeyond) return { head: scan.prepareMax, headHeader: null, isKnown };
  let head = Math.max(scan.checkpoint, opFitting);
  if (!isKnown) {
    for (const slot of resolved) if (slot.kind === 'clean') head = Math.max(head, slot.op);
  }
  const slot = resolved[head % resolved.length];
  if (slot.kind === 'clean' && slot.op === head) return { head, headHeader: slot.header, isKnown };
  return {
    head,
    headHeader: fitting !== undefined && opFitting === head ? fitting : null,
    isKnown,
  };
}

/** Whether something may have been acknowledged behind the head and be lost. */
function hasFaulty(scan: ClusterScan, resolved: readonly ResolvedSlot[], head: number): boolean {
  if (head >= scan.prepareMax) return false;
  for (let op = head; op <= scan.prepareMax; op++) {
    if (resolved[op % resolved.length].kind === 'faulty') return true;
  }
  return false;
}

/**
 * Whether a prepare is not in the log any more. One that is not yet in it, because its view did not
 * become durable, has overwritten something that is.
 */
function isCutOff(scan: ClusterScan, header: Uint8Array): boolean {
  return !isIn(scan, header) && readView(header) <= scan.logView;
}

/** The lowest op that the superblock has a header for, if only a blank one; without any 0. */
function opOldest({ viewHeaders }: ClusterScan): number {
  const oldest = viewHeaders.at(-1);
  return oldest === undefined ? 0 : opOf(oldest);
}

function isIn(scan: ClusterScan, header: Uint8Array): boolean {
  return isPossible(header, scan.viewHeaders, scan.logView);
}

function isBlank(header: Uint8Array): boolean {
  return header[PrepareOffset.operation] === OPERATION_RESERVED;
}

function opOf(header: Uint8Array): number {
  const op = readSafeU64(header, PrepareOffset.op);
  assert(op !== null, 'resolveCluster: not a position');
  return op;
}
