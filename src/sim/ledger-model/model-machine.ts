/**
 * The naive model behind the contract of a state machine. It is the first machine that the
 * comparison runs against, so that the harness itself is tested; planted bugs are made from it;
 * and a simulator uses it wherever a slow ledger that is surely right is wanted. Its checkpoint
 * blocks are the leaves of the logical content, the same that the real ledger writes, so either
 * can be restored from the other's.
 */
import type { ApplyContext, Block, Machine, ReadRequest, Validity } from '../../engine/index.ts';
import { assert, bytesEqual, type U64, u64ToBigInt } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { LedgerModel } from './model.ts';
import { concatenate } from './multi-batch.ts';
import { rebuild } from './rebuild.ts';
import { encodeSections, leavesOf, SECTION_COUNT } from './sections.ts';
import { LedgerState } from './state.ts';

export class ModelMachine implements Machine {
  readonly #checksum: Checksum;
  readonly #createState: () => LedgerState;
  #model: LedgerModel;
  /** Leaves as of the last cut or restore, by kind and index. */
  readonly #written: Map<string, Uint8Array> = new Map();
  /** Blocks of the cut that `slice` has not handed out yet. */
  #pending: Block[] = [];
  #cutRoot: Uint8Array = new Uint8Array(16);
  /** Leaves collected while restoring, section by section. */
  #restored: Uint8Array[][] = [];

  /** `createState` lets a test put a state with a planted bug underneath. */
  constructor(checksum: Checksum, createState: () => LedgerState = () => new LedgerState()) {
    this.#checksum = checksum;
    this.#createState = createState;
    this.#model = new LedgerModel(createState());
  }

  get model(): LedgerModel {
    return this.#model;
  }

  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
    return this.#model.validate(operation, body, bodySizeMax);
  }

  reserve(operation: number, body: Uint8Array): number {
    return this.#model.reserve(operation, body);
  }

  prefetch(_operation: number, _body: Uint8Array): readonly ReadRequest[] {
    return [];
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const bytes = this.#model.apply(context.op, u64ToBigInt(context.timestamp), operation, body);
    reply.set(bytes);
    return bytes.length;
  }

  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    const bytes = this.#model.query(operation, body);
    reply.set(bytes);
    return bytes.length;
  }

  due(timestamp: U64): boolean {
    return this.#model.due(u64ToBigInt(timestamp));
  }

  cut(_op: number): number {
    this.#cutRoot = this.root();
    assert(this.#pending.length === 0, 'cut: the last one has not been handed out');
    encodeSections(this.#model.state).forEach((section, sectionIndex) => {
      leavesOf(section).forEach((bytes, index) => {
        const kind = sectionIndex + 1;
        const before = this.#written.get(`${kind}/${index}`);
        if (before !== undefined && same(before, bytes)) return;
        this.#written.set(`${kind}/${index}`, bytes);
        this.#pending.push({ kind, index, bytes });
      });
    });
    return this.#pending.length;
  }

  slice(): Block | null {
    return this.#pending.shift() ?? null;
  }

  rootOfCut(): Uint8Array {
    return this.#cutRoot;
  }

  sliceAhead(): Block | null {
    return null;
  }

  restore(block: Block): void {
    const { kind, index } = block;
    assert(kind >= 1, 'restore: unknown kind');
    // Kinds beyond the sections hold what another machine could have worked out again.
    if (kind > SECTION_COUNT) return;
    const bytes = block.bytes.slice();
    this.#restored[kind - 1] ??= [];
    (this.#restored[kind - 1] as Uint8Array[])[index] = bytes;
    this.#written.set(`${kind}/${index}`, bytes);
  }

  restored(): void {
    const sections: Uint8Array[] = [];
    for (let i = 0; i < SECTION_COUNT; i++) sections.push(concatenate(this.#restored[i] ?? []));
    this.#restored = [];
    this.#model = new LedgerModel(rebuild(sections, this.#createState()));
  }

  root(): Uint8Array {
    return this.#model.root(this.#checksum);
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && bytesEqual(a, 0, b, 0, a.length);
}
