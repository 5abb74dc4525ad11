import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideSlot, rowsFitting, type SlotInput } from './slot-decision.ts';

const states = ['bad', 'reserved', 'valid'] as const;
const booleans = [false, true] as const;
const relations = ['below', 'same', 'forked', 'above'] as const;

function* allInputs(): Generator<SlotInput> {
  for (const header of states)
    for (const prepare of states)
      for (const headerIsBeyond of booleans)
        for (const prepareIsBeyond of booleans)
          for (const prepareIsOpMax of booleans)
            for (const relation of relations) {
              yield { header, prepare, headerIsBeyond, prepareIsBeyond, prepareIsOpMax, relation };
            }
}

test('every input fits exactly one row, and every row is reached', () => {
  const reached = new Set<string>();
  let count = 0;
  for (const input of allInputs()) {
    const fitting = rowsFitting(input);
    assert.equal(fitting.length, 1, JSON.stringify(input));
    reached.add(fitting[0]!.name);
    count++;
  }
  assert.equal(count, 3 * 3 * 2 * 2 * 2 * 4);
  assert.deepEqual(reached, new Set('ABCDEFGHIJKLMNOP'));
});

/** The same rules once more, as one would say them: the dumb twin of the table. */
function soloTwin(input: SlotInput): string {
  const { header, prepare } = input;
  if (prepare === 'valid' && input.prepareIsBeyond) return 'lost';
  if (header === 'valid' && prepare !== 'bad' && input.headerIsBeyond) return 'lost';
  if (prepare === 'bad') return header === 'bad' ? 'lost' : 'torn';
  if (prepare === 'reserved') {
    if (header === 'reserved') return 'nil';
    return header === 'bad' ? 'fix' : 'lost';
  }
  if (header !== 'valid') return 'fix';
  const byRelation = { below: 'fix', same: 'ok', forked: 'lost', above: 'lost' };
  return byRelation[input.relation];
}

test('alone: the decision is what the order of writes allows', () => {
  for (const input of allInputs()) {
    assert.equal(decideSlot(input, true).decision, soloTwin(input), JSON.stringify(input));
  }
});

test('in a cluster: the rows of the protocol', () => {
  const base: SlotInput = {
    header: 'valid',
    prepare: 'valid',
    headerIsBeyond: false,
    prepareIsBeyond: false,
    prepareIsOpMax: false,
    relation: 'same',
  };
  const cases: readonly (readonly [Partial<SlotInput>, string, string])[] = [
    [{ header: 'bad', prepare: 'bad' }, 'A', 'lost'],
    [{ header: 'reserved', prepare: 'bad' }, 'B', 'torn'],
    [{ prepare: 'bad' }, 'C', 'torn'],
    [{ header: 'bad', prepare: 'reserved' }, 'D', 'lost'],
    [{ header: 'bad' }, 'E', 'lost'],
    [{ header: 'bad', prepareIsOpMax: true }, 'F', 'fix'],
    [{ header: 'reserved' }, 'G', 'fix'],
    [{ prepareIsBeyond: true }, 'H', 'cut'],
    [{ headerIsBeyond: true }, 'I', 'cut'],
    [{ prepare: 'reserved', headerIsBeyond: true }, 'J', 'cut'],
    [{ prepare: 'reserved' }, 'K', 'lost'],
    [{ header: 'reserved', prepare: 'reserved' }, 'L', 'nil'],
    [{ relation: 'below' }, 'M', 'fix'],
    [{ relation: 'above' }, 'N', 'lost'],
    [{ relation: 'forked' }, 'O', 'lost'],
    [{}, 'P', 'ok'],
  ];
  for (const [change, row, decision] of cases) {
    assert.deepEqual(decideSlot({ ...base, ...change }, false), { row, decision });
  }
});
