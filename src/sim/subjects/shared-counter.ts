/** The shared table of the counter: `add N` and `read`, answered with the total. */
import { COUNTER_ADD, COUNTER_READ, CounterMachine } from '../../engine/index.ts';
import { assert, readSafeU64, writeU32 } from '../../stdx/index.ts';
import type { SharedCase } from './shared-table.ts';

export const counterCase: SharedCase = {
  name: 'counter',
  rows: [
    ['read', '0'],
    ['add 5', '5'],
    ['add 0', '5'],
    ['add 4294967295', '4294967300'],
    ['read', '4294967300'],
    ['add 4294967295', '8589934595'],
    ['add 1', '8589934596'],
    ['add 1', '8589934597'],
    ['add 1', '8589934598'],
    ['read', '8589934598'],
  ],
  look: 'read',
  machine: () => new CounterMachine(),
  demand: (command) => {
    const [verb, amount] = command.split(' ');
    if (verb === 'read') return { operation: COUNTER_READ, body: new Uint8Array(0) };
    assert(verb === 'add', 'counterCase: add or read');
    const body = new Uint8Array(4);
    writeU32(body, 0, Number(amount));
    return { operation: COUNTER_ADD, body };
  },
  answer: (_, reply) => String(readSafeU64(reply, 0)),
};
