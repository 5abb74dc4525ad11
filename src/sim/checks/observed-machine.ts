/**
 * A machine with a window: passes every call on to the real one and tells an observer what was
 * applied. It is how the checkers see commits without asking the engine under test, whose word
 * proves nothing: what counts is what reached the machine, in which order, with what answer.
 */
import type {
  ApplyContext,
  Block,
  Machine,
  OPERATION_PULSE,
  ReadRequest,
  Validity,
} from '../../engine/index.ts';
import { assert, type U64 } from '../../stdx/index.ts';

export interface Applied {
  readonly op: number;
  readonly timestamp: U64;
  /** {@link OPERATION_PULSE} or a machine's operation. */
  readonly operation: number | typeof OPERATION_PULSE;
  /** Views, valid during the call. */
  readonly body: Uint8Array;
  readonly reply: Uint8Array;
}

export interface MachineObserver {
  onApply(applied: Applied): void;
  /** A checkpoint of the state after `op` begins. */
  onCut(op: number, root: Uint8Array): void;
}

export class ObservedMachine implements Machine {
  readonly #machine: Machine;
  readonly #observer: MachineObserver;

  constructor(machine: Machine, observer: MachineObserver) {
    this.#machine = machine;
    this.#observer = observer;
  }

  validate(operation: number, body: Uint8Array, bodySizeMax: number): Validity {
    return this.#machine.validate(operation, body, bodySizeMax);
  }

  reserve(operation: number, body: Uint8Array): number {
    return this.#machine.reserve(operation, body);
  }

  prefetch(operation: number, body: Uint8Array): readonly ReadRequest[] {
    return this.#machine.prefetch(operation, body);
  }

  apply(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    assert(body.byteOffset % 16 === 0, 'ObservedMachine: body is not aligned');
    assert(reply.byteOffset % 16 === 0, 'ObservedMachine: reply is not aligned');
    const size = this.#machine.apply(context, operation, body, reply);
    assert(size >= 0 && size <= reply.length, 'ObservedMachine: reply size out of range');
    const { op, timestamp } = context;
    this.#observer.onApply({ op, timestamp, operation, body, reply: reply.subarray(0, size) });
    return size;
  }

  query(operation: number, body: Uint8Array, reply: Uint8Array): number {
    return this.#machine.query(operation, body, reply);
  }

  due(timestamp: U64): boolean {
    return this.#machine.due(timestamp);
  }

  cut(op: number): number {
    this.#observer.onCut(op, this.#machine.root());
    return this.#machine.cut(op);
  }

  slice(target: Uint8Array): Block | null {
    return this.#machine.slice(target);
  }

  rootOfCut(): Uint8Array {
    return this.#machine.rootOfCut();
  }

  sliceAhead(target: Uint8Array): Block | null {
    return this.#machine.sliceAhead(target);
  }

  restore(block: Block): void {
    this.#machine.restore(block);
  }

  restored(): void {
    this.#machine.restored();
  }

  root(): Uint8Array {
    return this.#machine.root();
  }
}
