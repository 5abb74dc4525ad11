import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fromHex, readSafeU64, readU64, toHex, u64ToBigInt } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { LedgerModel, ModelMachine, operationShapes } from './index.ts';

interface Message {
  readonly command: string;
  readonly hex: string;
}
interface Step {
  readonly step: string;
  readonly messages: readonly Message[];
}

const fixture = join(import.meta.dirname, '../../../test/fixtures/ledger-wire-vectors.json');
const { steps } = JSON.parse(readFileSync(fixture, 'utf8')) as { steps: Step[] };
const BODY_SIZE_MAX = 1_048_320;

/** Requests of the recorded conversation with the reply that each got, resends left out. */
function recorded(): { step: string; operation: number; request: Uint8Array; reply: Uint8Array }[] {
  const pairs = [];
  const seen = new Set<string>();
  for (const { step, messages } of steps) {
    const requests = messages.filter(({ command, hex }) => command === 'request' && !seen.has(hex));
    const replies = messages.filter(({ command }) => command === 'reply');
    for (const { hex } of requests) {
      if (seen.has(hex)) continue;
      seen.add(hex);
      const request = fromHex(hex);
      const reply = replies.shift();
      if (reply === undefined) continue;
      pairs.push({ step, operation: request[196] as number, request, reply: fromHex(reply.hex) });
    }
  }
  return pairs.filter(({ operation }) => operation >= 128);
}

test('replies to the recorded conversation are byte-identical', () => {
  const model = new LedgerModel();
  const pairs = recorded();
  assert.equal(pairs.length, 20);
  for (const { step, operation, request, reply } of pairs) {
    const body = request.subarray(256);
    assert.equal(model.validate(operation, body, BODY_SIZE_MAX), 'valid', step);
    const op = readSafeU64(reply, 208) as number;
    const timestamp = u64ToBigInt(readU64(reply, 224));
    assert.equal(toHex(model.apply(op, timestamp, operation, body)), toHex(reply.subarray(256)));
  }
});

test('a model rebuilt from its checkpoint answers as before and writes nothing new', () => {
  const checksum = createChecksum();
  const machine = new ModelMachine(checksum);
  const reply = new Uint8Array(BODY_SIZE_MAX);
  for (const { operation, request, reply: message } of recorded()) {
    const context = { op: readSafeU64(message, 208) as number, timestamp: readU64(message, 224) };
    machine.apply(context, operation, request.subarray(256), reply);
  }
  const restored = new ModelMachine(checksum);
  machine.cut(30);
  for (let block = machine.slice(); block !== null; block = machine.slice()) {
    restored.restore(block);
  }
  restored.restored();
  assert.equal(toHex(restored.root()), toHex(machine.root()));
  assert.deepEqual(restored.model.state.events, machine.model.state.events);
  restored.cut(30);
  assert.equal(restored.slice(), null);
});

test('operations of older clients, of the engine and unknown ones are refused', () => {
  const model = new LedgerModel();
  for (let operation = 128; operation < 256; operation++) {
    const verdict = model.validate(operation, new Uint8Array(0), BODY_SIZE_MAX);
    const expected = operationShapes.has(operation) ? 'invalid-body' : 'invalid-operation';
    assert.equal(verdict, expected);
  }
});

test('a clone goes its own way', () => {
  const model = new LedgerModel();
  const [accounts, transfers] = recorded().filter(({ operation }) => operation >= 146) as [
    ReturnType<typeof recorded>[number],
    ReturnType<typeof recorded>[number],
  ];
  model.apply(1, 1000n, accounts.operation, accounts.request.subarray(256));
  const checksum = createChecksum();
  const copy = model.clone();
  assert.equal(toHex(copy.root(checksum)), toHex(model.root(checksum)));
  copy.apply(2, 2000n, transfers.operation, transfers.request.subarray(256));
  assert.notEqual(toHex(copy.root(checksum)), toHex(model.root(checksum)));
  assert.equal(model.state.transfers.length, 0);
});
