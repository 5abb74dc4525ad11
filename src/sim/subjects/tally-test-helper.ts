/**
 * The smallest machine worth testing with: it adds numbers up and answers with the sum so far. The
 * sum depends on order and on how often, so that whatever goes wrong shows in the next reply.
 */
import type { ApplyContext, Block, Machine, ReadRequest, Validity } from '../../engine/index.ts';
import { assert, readU32, writeU32 } from '../../stdx/index.ts';
import type { Subject, Workload, WorkloadOptions } from './subject.ts';

export const TALLY_OPERATION = 200;
const BODY_SIZE = 16;

export class TallyMachine implements Machine {
  #sum: number = 0;
  #count: number = 0;

  validate(operation: number, body: Uint8Array): Validity {
    if (operation !== TALLY_OPERATION) return 'invalid-operation';
    return body.length === BODY_SIZE ? 'valid' : 'invalid-body';
  }

  reserve(): number {
    return 1;
  }

  prefetch(): readonly ReadRequest[] {
    return [];
  }

  apply(_: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    assert(operation >= 128, 'tally: not an operation');
    this.#sum = (Math.imul(this.#sum, 31) + readU32(body, 0)) >>> 0;
    this.#count++;
    writeU32(reply, 0, this.#sum);
    writeU32(reply, 4, this.#count);
    return 8;
  }

  query(): number {
    return 0;
  }

  due(): boolean {
    return false;
  }

  cut(): number {
    return 0;
  }

  slice(): Block | null {
    return null;
  }

  rootOfCut(): Uint8Array {
    return this.root();
  }

  sliceAhead(): Block | null {
    return null;
  }

  restore(): void {}

  restored(): void {}

  root(): Uint8Array {
    const root = new Uint8Array(16);
    writeU32(root, 0, this.#sum);
    writeU32(root, 4, this.#count);
    return root;
  }
}

/** The twin of a tally is another tally: what is tested with it is everything else. */
export function tallySubject(): Subject {
  return { reference: new TallyMachine(), machine: () => new TallyMachine(), workload };
}

const workload = ({ prng, bodySizeMax }: WorkloadOptions): Workload => ({
  next: () => {
    const body = new Uint8Array(BODY_SIZE);
    prng.fill(body);
    return { operation: TALLY_OPERATION, body };
  },
  invalid: () => {
    switch (prng.below(3)) {
      case 0:
        return { operation: 201, body: new Uint8Array(BODY_SIZE), reason: 4 };
      case 1:
        return { operation: TALLY_OPERATION, body: new Uint8Array(BODY_SIZE + 1), reason: 5 };
      default:
        return { operation: TALLY_OPERATION, body: new Uint8Array(bodySizeMax + 1), reason: 6 };
    }
  },
});
