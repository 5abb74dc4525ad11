/**
 * Two copies of a machine have applied the same and are not the same. Why? Fresh copies are given
 * the operations again: when they part among themselves, it is the machine's `apply`; when one that
 * was taken through checkpoints parts from one that was not, it is the checkpoints.
 */
import {
  BLOCK_SIZE_MAX,
  type Block,
  type Machine,
  REPLY_BODY_SIZE_MAX,
} from '../../engine/index.ts';
import { toHex } from '../../stdx/index.ts';
import { sameBytes } from '../checks/history.ts';
import type { Adapter } from './adapter.ts';
import type { Book, Entry } from './book.ts';

export interface Diagnosis {
  readonly kind: 'nondeterministic' | 'state-lost';
  readonly text: string;
  /** What a fresh copy comes to; `null`: it fails. */
  readonly fresh: Machine | null;
}

export interface Suspect {
  readonly op: number;
  /** Op of the checkpoint that its life began with; `null`: with nothing. */
  readonly restoredAt: number | null;
}

/** Copies beside the first: chance may agree with itself once. */
const OTHERS = 4;

/** An operation as a copy did it. */
interface Done {
  readonly op: number;
  readonly reply: Uint8Array;
  readonly root: string;
}

type AnyAdapter = Adapter<unknown, never, unknown, never>;

export function diagnose(adapter: AnyAdapter, book: Book, suspect: Suspect): Diagnosis {
  try {
    return diagnoseByCopies(adapter, book, suspect);
  } catch (error) {
    const text = `fresh copies that are given the same operations fail: ${String(error)}`;
    return { kind: 'nondeterministic', text, fresh: null };
  }
}

function diagnoseByCopies(adapter: AnyAdapter, book: Book, suspect: Suspect): Diagnosis {
  const entries = book.upTo(suspect.op);
  const fresh = adapter.make();
  const first = run(fresh, entries);
  for (let i = 0; i < OTHERS; i++) {
    const parted = partsAt(first, run(adapter.make(), entries));
    if (parted === null) continue;
    const text =
      `two fresh copies that are given the same operations part at op ${parted}: ` +
      'its outcome depends on something else than state, command and context';
    return { kind: 'nondeterministic', text, fresh };
  }
  const lost = lostAt(adapter, book, suspect, first);
  if (lost !== null) return { kind: 'state-lost', text: lost, fresh };
  const text =
    'fresh copies that are given the same operations agree with each other: this one was changed ' +
    'by something that is no operation, depends on something that seldom changes, or shares ' +
    'something with other copies in the process';
  return { kind: 'nondeterministic', text, fresh };
}

/** What a copy that goes through the checkpoint shows; `null`: it is as the others. */
function lostAt(
  adapter: AnyAdapter,
  book: Book,
  { op, restoredAt }: Suspect,
  straight: readonly Done[],
): string | null {
  if (restoredAt === null) return null;
  const entries = book.upTo(op);
  const donor = adapter.make();
  const blocks = new Map<string, Block>();
  for (const entry of entries.filter(({ context }) => context.op <= restoredAt)) {
    apply(donor, entry);
    if (book.hasCut(entry.context.op) || entry.context.op === restoredAt) {
      takeBlocks(donor, entry.context.op, blocks);
    }
  }
  // Operations of the engine alone may lie between the last of these and the checkpoint.
  takeBlocks(donor, restoredAt, blocks);
  const copy = adapter.make();
  const ordered = [...blocks.values()].toSorted((a, b) => a.kind - b.kind || a.index - b.index);
  for (const block of ordered) copy.restore(block);
  copy.restored();
  const which = `a copy that is restored from the checkpoint at op ${restoredAt}`;
  const root = straight.findLast((done) => done.op <= restoredAt)?.root;
  if (root !== undefined && toHex(copy.root()) !== root) {
    return `${which} has another root than the one it was taken from`;
  }
  const after = run(
    copy,
    entries.filter(({ context }) => context.op > restoredAt),
  );
  const parted = partsAt(
    straight.filter((done) => done.op > restoredAt),
    after,
  );
  if (parted === null) return null;
  return (
    `${which} parts at op ${parted} from one that was there all the time: ` +
    'the checkpoint does not hold all of the state, or not in its order'
  );
}

function takeBlocks(machine: Machine, op: number, blocks: Map<string, Block>): void {
  machine.cut(op);
  for (;;) {
    const block = machine.slice(target);
    if (block === null) return;
    const name = `${block.kind} ${block.index}`;
    if (block.bytes.length === 0) blocks.delete(name);
    else blocks.set(name, { ...block, bytes: block.bytes.slice() });
  }
}

function run(machine: Machine, entries: readonly Entry[]): readonly Done[] {
  return entries.map((entry) => {
    const reply = apply(machine, entry);
    return { op: entry.context.op, reply, root: toHex(machine.root()) };
  });
}

function apply(machine: Machine, { context, operation, body }: Entry): Uint8Array {
  const size = machine.apply(context, operation, body.slice(), reply);
  return reply.slice(0, size);
}

function partsAt(a: readonly Done[], b: readonly Done[]): number | null {
  for (const [index, one] of a.entries()) {
    const other = b[index] as Done;
    if (one.root !== other.root || !sameBytes(one.reply, other.reply)) return one.op;
  }
  return null;
}

const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
const target = new Uint8Array(BLOCK_SIZE_MAX);
