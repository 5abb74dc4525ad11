/**
 * Every combination of what the two rings can hold in one slot of a log that is otherwise sound,
 * and what one would say of it: the dumb twin of the verdict.
 */
import { uniqueHeader } from '../view-change/vote-test-helper.ts';
import type { ClusterResolution, ClusterScan, ClusterSlotScan } from './cluster-resolution.ts';

const SLOTS = 40;
const CHECKPOINT = 47;
/** Operations 48 … 60 are there. The log's view is 5; what it took over ends with 55. */
const HEAD = 60;
const VIEW_HEAD = 55;
const VIEW = 5;

/**
 * `older`: of the operation a round before. `mine`: of the operation that belongs there. `stale`:
 * of the same op in a view that was cut off. `later`: in one that is yet to begin. `beyond`: of the
 * operation a round later.
 */
const KINDS = ['bad', 'reserved', 'older', 'mine', 'stale', 'later', 'beyond'] as const;
type Kind = (typeof KINDS)[number];
/** Far below the head, among the last, the head itself, the next one, and one further. */
const POSITIONS = [49, 54, 58, 60, 61, 63] as const;

const chain: Uint8Array[] = (() => {
  const headers: Uint8Array[] = [];
  let parent: Uint8Array = new Uint8Array(16);
  for (let op = 0; op <= CHECKPOINT + 2 * SLOTS; op++) {
    const view = op <= CHECKPOINT ? 1 : op <= VIEW_HEAD ? 3 : VIEW;
    const header = uniqueHeader({ op, view, commit: 0, parent });
    headers.push(header);
    parent = header.subarray(0, 16);
  }
  return headers;
})();

function headerOf(kind: Kind, op: number): Uint8Array {
  if (kind === 'older') return chain[op - SLOTS]!;
  if (kind === 'mine') return chain[op]!;
  if (kind === 'beyond') return chain[op + SLOTS]!;
  const parent = chain[op - 1]!.subarray(0, 16);
  return uniqueHeader({ op, view: kind === 'later' ? VIEW + 1 : 4, commit: 0, parent });
}

function slotOf(header: Kind, prepare: Kind, op: number): ClusterSlotScan {
  const stateOf = (kind: Kind) => (kind === 'bad' || kind === 'reserved' ? kind : 'valid');
  const stale = headerOf('stale', op);
  const later = headerOf('later', op);
  const bytesOf = (kind: Kind): Uint8Array => {
    if (stateOf(kind) !== 'valid') return new Uint8Array(256);
    return kind === 'stale' ? stale : kind === 'later' ? later : headerOf(kind, op);
  };
  const opOf = (kind: Kind): number => {
    if (stateOf(kind) !== 'valid') return 0;
    return kind === 'older' ? op - SLOTS : kind === 'beyond' ? op + SLOTS : op;
  };
  return {
    header: stateOf(header),
    headerOp: opOf(header),
    prepare: stateOf(prepare),
    prepareOp: opOf(prepare),
    isIdentical: header === prepare && stateOf(header) === 'valid',
    headerBytes: bytesOf(header),
    prepareBytes: bytesOf(prepare),
  };
}

/** The log with `changes` made, by op. */
function scanWith(changes: ReadonlyMap<number, ClusterSlotScan>): ClusterScan {
  const slots: ClusterSlotScan[] = [];
  for (let op = CHECKPOINT + 1; op <= CHECKPOINT + SLOTS; op++) {
    const kind = op <= HEAD ? 'mine' : 'older';
    slots[op % SLOTS] = changes.get(op) ?? slotOf(kind, kind, op);
  }
  const viewHeaders = chain.slice(VIEW_HEAD - 8, VIEW_HEAD + 1).reverse();
  const prepareMax = CHECKPOINT + SLOTS;
  return { slots, checkpoint: CHECKPOINT, prepareMax, view: VIEW, logView: VIEW, viewHeaders };
}

/** What is to be said of the slot: `clean` with the operation that belongs there, or not there. */
function expected(header: Kind, prepare: Kind, op: number): 'clean' | 'empty' | 'faulty' {
  if (prepare === 'beyond') return 'empty';
  if (header === 'beyond') return prepare === 'bad' ? 'faulty' : 'empty';
  if (prepare === 'later' || header === 'later') return 'faulty';
  if (prepare === 'mine') return 'clean';
  if (prepare === 'bad') {
    const isTorn = header === 'reserved' || header === 'older' || header === 'stale';
    return isTorn && op > HEAD - 8 ? 'empty' : 'faulty';
  }
  if (prepare === 'reserved') return header === 'reserved' ? 'empty' : 'faulty';
  if (prepare === 'older') {
    return header === 'older' || header === 'reserved' ? 'empty' : 'faulty';
  }
  return header === 'bad' || header === 'mine' ? 'faulty' : 'empty';
}

export function slotProblems(resolve: (scan: ClusterScan) => ClusterResolution): string[] {
  const problems: string[] = [];
  const check = (what: string, found: unknown, wanted: unknown): void => {
    if (found !== wanted) problems.push(`${what}: ${String(found)}, not ${String(wanted)}`);
  };
  for (const op of POSITIONS) {
    for (const header of KINDS) {
      for (const prepare of KINDS) {
        const what = `${op} has ${header} over ${prepare}`;
        const verdict = resolve(scanWith(new Map([[op, slotOf(header, prepare, op)]])));
        const slot = verdict.slots[op % SLOTS]!;
        const isMine = slot.kind === 'clean' && slot.op === op;
        check(
          what,
          slot.kind === 'clean' && !isMine ? 'empty' : slot.kind,
          expected(header, prepare, op),
        );
        if (isMine) check(what, slot.header, headerOf('mine', op));
        check(
          `${what}, fix`,
          verdict.fixes.includes(op % SLOTS),
          slot.kind === 'clean' && header !== prepare,
        );
        const last = Math.max(HEAD, isMine ? op : 0);
        check(`${what}, head`, verdict.head, op === HEAD && !isMine ? HEAD - 1 : last);
        check(`${what}, certain`, verdict.isHeadCertain, slot.kind !== 'faulty' || op < HEAD);
        check(`${what}, lost`, verdict.isLost, false);
      }
    }
  }
  return [...problems, ...wholeLogProblems(resolve), ...beyondProblems(resolve)];
}

/**
 * In a view change, of a log that reaches beyond the slots: what they hold may be what an older
 * view has left there.
 */
function beyondProblems(resolve: (scan: ClusterScan) => ClusterResolution): string[] {
  const scan = scanWith(new Map());
  const last = scan.prepareMax + 4;
  const viewHeaders = chain.slice(scan.prepareMax + 1, last + 1).reverse();
  const verdict = resolve({ ...scan, view: VIEW + 2, viewHeaders });
  const { head, headHeader, isHeadCertain } = verdict;
  const found = `head ${head}, ${headHeader === null ? 'unknown' : 'known'}, ${isHeadCertain}`;
  const wanted = `head ${scan.prepareMax}, unknown, true`;
  return found === wanted ? [] : [`a log beyond its slots: ${found}, not ${wanted}`];
}

/** What cannot be seen by one slot alone. */
function wholeLogProblems(resolve: (scan: ClusterScan) => ClusterResolution): string[] {
  const problems: string[] = [];
  const check = (what: string, scan: ClusterScan, wanted: readonly unknown[]): void => {
    const { head, headHeader, isHeadCertain, isLost, slots } = resolve(scan);
    const faulty = slots.filter(({ kind }) => kind === 'faulty').length;
    const found = [
      head,
      headHeader === null ? null : chain.indexOf(headHeader),
      isHeadCertain,
      isLost,
      faulty,
    ];
    if (String(found) !== String(wanted)) problems.push(`${what}: ${String(found)}`);
  };
  const torn = (count: number): Map<number, ClusterSlotScan> =>
    new Map(
      Array.from({ length: count }, (_, i) => [HEAD + 1 + i, slotOf('older', 'bad', HEAD + 1 + i)]),
    );
  check('sound', scanWith(new Map()), [60, 60, true, false, 0]);
  check('a pipeline of torn writes', scanWith(torn(8)), [60, 60, true, false, 0]);
  check('more torn writes than that', scanWith(torn(9)), [60, 60, false, false, 9]);
  const mixed = torn(1).set(70, slotOf('bad', 'bad', 70));
  check('torn writes and damage', scanWith(mixed), [60, 60, false, false, 2]);
  const bad = Array.from({ length: SLOTS }, () => slotOf('bad', 'bad', 50));
  check('nothing left', { ...scanWith(new Map()), slots: bad }, [55, 55, false, true, 40]);
  const none = new Map<number, ClusterSlotScan>();
  for (let op = 50; op <= HEAD; op++) none.set(op, slotOf('older', 'older', op));
  check('the superblock knows more', scanWith(none), [55, 55, true, false, 0]);
  const faultyHead = new Map(none).set(55, slotOf('bad', 'bad', 55));
  check('and its slot is damaged', scanWith(faultyHead), [55, 55, false, false, 1]);
  const changing = { ...scanWith(none), view: VIEW + 1 };
  check('in a view change', changing, [55, 55, true, false, 0]);
  check('in a view change, behind', { ...scanWith(new Map()), view: VIEW + 1 }, [
    55,
    55,
    true,
    false,
    0,
  ]);
  const damaged = { ...scanWith(mixed), view: VIEW + 1 };
  check('in a view change, damaged', damaged, [55, 55, true, false, 2]);
  const beyond = { ...scanWith(new Map()), viewHeaders: [chain[90]!, chain[88]!, chain[70]!] };
  check('a primary that is far ahead', beyond, [70, 70, true, false, 0]);
  const silent = { ...scanWith(none), view: VIEW + 1, viewHeaders: [] };
  check('a view change, and nothing said in it', silent, [49, 49, true, false, 0]);
  const few = chain.slice(VIEW_HEAD - 2, VIEW_HEAD + 1).reverse();
  const low = new Map([[49, slotOf('bad', 'mine', 49)]]);
  check('below the view headers', { ...scanWith(low), viewHeaders: few }, [60, 60, true, false, 1]);
  const untold = new Map([[61, slotOf('bad', 'older', 61)]]);
  check('no view headers', { ...scanWith(untold), viewHeaders: [] }, [60, 60, false, false, 1]);
  return problems;
}
