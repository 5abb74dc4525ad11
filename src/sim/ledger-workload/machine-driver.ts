/**
 * A machine as a driver would hold it: requests and replies lie in slots, on 16-byte boundaries and
 * among foreign bytes; its checkpoint blocks are kept, and the operations since, so that it can be
 * thrown away and brought back.
 */
import {
  BLOCK_SIZE_MAX,
  type Block,
  type Machine,
  REPLY_BODY_SIZE_MAX,
  type Validity,
} from '../../engine/index.ts';
import { assert, bytesEqual, toHex, type U64, u64FromBigInt } from '../../stdx/index.ts';
import { encodeSections, type LedgerModel, leavesOf } from '../ledger-model/index.ts';
import type { Request } from './requests.ts';

/** An operation that the machine has applied, and the reply that it must give to it. */
export interface Applied {
  readonly op: number;
  readonly timestamp: bigint;
  readonly request: Request;
  readonly reply: Uint8Array;
}

/** What a checkpoint must hold. */
interface Cut {
  readonly op: number;
  /** By kind and index. */
  readonly leaves: ReadonlyMap<string, Uint8Array>;
  readonly root: string;
}

const HEADER_SIZE = 256;
const SLOT_SIZE: number = HEADER_SIZE + REPLY_BODY_SIZE_MAX + 4096;
/** Bytes around what counts, to see whether they are written or read. */
const MARGIN = 1024;
const POISON = 0xa5;

export class MachineDriver {
  readonly #create: () => Machine;
  #machine: Machine;
  /** Two memories in turn, as a pool may hand out any slot. */
  readonly #memories: readonly ArrayBuffer[];
  #turn: number = 0;
  /** The checkpoint, by kind and index. */
  readonly #blocks: Map<string, Block> = new Map();
  /** Blocks of the checkpoint that is being made. */
  readonly #blocksNext: Map<string, Block> = new Map();
  readonly #target: Uint8Array = new Uint8Array(BLOCK_SIZE_MAX);
  #cut: Cut | null = null;
  /** Applied since the checkpoint. */
  #log: Applied[] = [];

  constructor(create: () => Machine) {
    this.#create = create;
    this.#machine = create();
    this.#memories = [new ArrayBuffer(4 * SLOT_SIZE), new ArrayBuffer(4 * SLOT_SIZE)];
  }

  validate(request: Request, bodySizeMax: number): Validity {
    return this.#machine.validate(request.operation, this.#place(request.body), bodySizeMax);
  }

  reserve(request: Request): number {
    return this.#machine.reserve(request.operation, this.#place(request.body));
  }

  apply(applied: Applied): Uint8Array {
    this.#log.push(applied);
    return this.#apply(applied);
  }

  /** `sizeExpected` only says how much of the reply slot to poison. */
  query(request: Request, sizeExpected: number): Uint8Array {
    const { operation, body } = request;
    return this.#run(body, sizeExpected, (placed, reply) =>
      this.#machine.query(operation, placed, reply),
    );
  }

  due(timestamp: U64): boolean {
    return this.#machine.due(timestamp);
  }

  root(): Uint8Array {
    return this.#machine.root().slice();
  }

  /** A cut was made, and its blocks are not all there yet. */
  get isCutting(): boolean {
    return this.#cut !== null;
  }

  /** Starts a checkpoint, which must hold what the model holds now. */
  cut(op: number, model: LedgerModel, root: string): void {
    assert(this.#cut === null, 'a cut while one is handed out');
    const leaves = new Map<string, Uint8Array>();
    encodeSections(model.state).forEach((section, sectionIndex) => {
      leavesOf(section).forEach((leaf, index) => {
        leaves.set(`${sectionIndex + 1}/${index}`, leaf);
      });
    });
    this.#cut = { op, leaves, root };
    this.#machine.cut(op);
  }

  /** Takes up to `count` blocks of the cut; tells what is wrong, as soon as all are there. */
  slice(count: number): string | null {
    assert(this.#cut !== null, 'a slice without a cut');
    for (let i = 0; i < count; i++) {
      const block = this.#machine.slice(this.#target);
      if (block === null) return this.#finishCheckpoint(this.#cut);
      this.#take(block);
    }
    return null;
  }

  /** Takes a block ahead of the next cut, if there is one. */
  sliceAhead(): boolean {
    assert(this.#cut === null, 'ahead of the next cut while one is handed out');
    const block = this.#machine.sliceAhead(this.#target);
    if (block !== null) this.#take(block);
    return block !== null;
  }

  /** A new machine from the checkpoint and the log since; tells what went wrong, or null. */
  restart(): string | null {
    const machine = this.#create();
    this.#cut = null;
    this.#blocksNext.clear();
    const blocks = [...this.#blocks.values()].sort((a, b) => a.kind - b.kind || a.index - b.index);
    for (const block of blocks) machine.restore({ ...block, bytes: block.bytes.slice() });
    machine.restored();
    this.#machine = machine;
    for (const applied of this.#log) {
      const reply = this.#apply(applied);
      if (!same(reply, applied.reply)) return `another reply to op ${applied.op}`;
    }
    return null;
  }

  #apply({ op, timestamp, request, reply }: Applied): Uint8Array {
    const { operation, body } = request;
    const context = { op, timestamp: u64FromBigInt(timestamp) };
    return this.#run(body, reply.length, (placed, target) => {
      const reads = this.#machine.prefetch(operation, placed);
      assert(Array.isArray(reads), 'prefetch returns an array');
      return this.#machine.apply(context, operation, placed, target);
    });
  }

  #run(
    body: Uint8Array,
    sizeExpected: number,
    call: (body: Uint8Array, reply: Uint8Array) => number,
  ): Uint8Array {
    const placed = this.#place(body);
    const memory = this.#memories[this.#turn] as ArrayBuffer;
    const replyOffset = 2 * SLOT_SIZE + HEADER_SIZE;
    const size = Math.min(sizeExpected + MARGIN, REPLY_BODY_SIZE_MAX);
    new Uint8Array(memory, replyOffset - HEADER_SIZE, HEADER_SIZE + size).fill(POISON);
    const reply = new Uint8Array(memory, replyOffset, REPLY_BODY_SIZE_MAX);
    const length = call(placed, reply);
    assert(same(placed, body), 'the machine changed its request');
    assert(length >= 0 && length <= REPLY_BODY_SIZE_MAX, 'a reply of impossible size');
    return reply.slice(0, length);
  }

  /** The body as a view into the other memory, with foreign bytes right behind it. */
  #place(body: Uint8Array): Uint8Array {
    this.#turn = 1 - this.#turn;
    const memory = this.#memories[this.#turn] as ArrayBuffer;
    const placed = new Uint8Array(memory, HEADER_SIZE + 16 * this.#turn, body.length);
    placed.set(body);
    new Uint8Array(memory, placed.byteOffset + body.length, MARGIN).fill(POISON);
    return placed;
  }

  #take({ kind, index, bytes }: Block): void {
    this.#blocksNext.set(`${kind}/${index}`, { kind, index, bytes: bytes.slice() });
    // Whatever the machine has put there belongs to us now.
    this.#target.fill(POISON);
  }

  /** The blocks of the cut are there: it is what a restart starts from. */
  #finishCheckpoint(cut: Cut): string | null {
    for (const [name, block] of this.#blocksNext) {
      if (block.bytes.length === 0) this.#blocks.delete(name);
      else this.#blocks.set(name, block);
    }
    this.#blocksNext.clear();
    this.#log = this.#log.filter(({ op }) => op > cut.op);
    this.#cut = null;
    const root = toHex(this.#machine.rootOfCut());
    if (root !== cut.root) return `root ${root} of the cut, the model had ${cut.root}`;
    return this.#compareBlocks(cut.leaves);
  }

  /** Blocks of kinds 1 … 5 are the leaves of the logical content, to the byte. */
  #compareBlocks(expected: ReadonlyMap<string, Uint8Array>): string | null {
    for (const [name, leaf] of expected) {
      const block = this.#blocks.get(name);
      if (block === undefined) return `no block ${name}`;
      if (!same(block.bytes, leaf)) return `another block ${name}`;
    }
    for (const [name, { kind }] of this.#blocks) {
      if (kind <= 5 && !expected.has(name)) return `a block ${name} too many`;
    }
    return null;
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && bytesEqual(a, 0, b, 0, a.length);
}
