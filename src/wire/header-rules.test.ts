import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeU16, writeU32 } from '../stdx/index.ts';
import { Command, HEADER_SIZE, Offset, PingClientOffset, RequestOffset } from './header.ts';
import { pingClientProblem, requestProblem } from './header-rules.ts';
import { messageVectors } from './vectors-test-helper.ts';

type Change = (bytes: Uint8Array) => void;

const put =
  (offset: number, value: number): Change =>
  (bytes) => {
    bytes[offset] = value;
  };
const clear =
  (offset: number, length: number): Change =>
  (bytes) => {
    bytes.fill(0, offset, offset + length);
  };
const size =
  (value: number): Change =>
  (bytes) => {
    writeU32(bytes, Offset.size, value);
  };
const both =
  (...changes: Change[]): Change =>
  (bytes) => {
    for (const change of changes) change(bytes);
  };

function captured(step: string, command: string): Uint8Array {
  const found = messageVectors.find((v) => v.step === step && v.command === command);
  assert.ok(found !== undefined);
  return found.bytes.slice();
}

const common: readonly (readonly [string, Change, string])[] = [
  ['checksum padding', put(16, 1), 'checksum padding is not zero'],
  ['checksum padding, last', put(31, 1), 'checksum padding is not zero'],
  ['body checksum padding', put(48, 1), 'body checksum padding is not zero'],
  ['body checksum padding, last', put(63, 1), 'body checksum padding is not zero'],
  ['nonce', put(64, 1), 'nonce is not zero'],
  ['nonce, last', put(79, 1), 'nonce is not zero'],
  ['epoch', put(103, 1), 'epoch is not zero'],
  ['protocol', (bytes) => writeU16(bytes, Offset.protocol, 256), 'protocol is not zero'],
  ['release', clear(Offset.release, 4), 'release is zero'],
  ['replica', put(115, 1), 'replica is not zero'],
  ['reserved frame', put(116, 1), 'reserved frame bytes are not zero'],
  ['reserved frame, last', put(127, 1), 'reserved frame bytes are not zero'],
];

const requests: readonly (readonly [string, Change, string | null])[] = [
  ...common,
  ['nothing', () => {}, null],
  ['view', put(Offset.view, 9), null],
  ['latency', put(RequestOffset.previousRequestLatency, 9), null],
  ['parent', put(RequestOffset.parent, 0xff), null],
  ['parent padding', put(144, 1), 'parent padding is not zero'],
  ['parent padding, last', put(159, 1), 'parent padding is not zero'],
  ['client', clear(RequestOffset.client, 16), 'client is zero'],
  ['session', clear(RequestOffset.session, 8), 'session is zero'],
  ['timestamp', put(191, 1), 'timestamp is not zero'],
  ['request', clear(RequestOffset.request, 4), 'request number is zero'],
  ['padding', put(197, 1), 'padding is not zero'],
  ['padding, last', put(199, 1), 'padding is not zero'],
  ['reserved', put(204, 1), 'reserved bytes are not zero'],
  ['reserved, last', put(255, 1), 'reserved bytes are not zero'],
  ['operation of the machine', put(RequestOffset.operation, 128), null],
  ['operation 255', put(RequestOffset.operation, 255), null],
  ['operation 127', put(RequestOffset.operation, 127), 'operation is reserved'],
  ['operation reserved', put(RequestOffset.operation, 0), 'operation is reserved'],
  ['operation root', put(RequestOffset.operation, 1), 'operation is reserved'],
  ['operation pulse', put(RequestOffset.operation, 4), 'operation is reserved'],
  ['operation upgrade', put(RequestOffset.operation, 5), 'operation is reserved'],
  ['reconfigure', both(put(RequestOffset.operation, 3), size(512)), null],
  ['reconfigure', both(put(196, 3), size(256)), 'reconfigure: wrong size'],
  ['noop', both(put(RequestOffset.operation, 6), size(256)), null],
  ['noop with a body', both(put(196, 6), size(272)), 'noop: wrong size'],
];

test('requests keep the field rules', () => {
  for (const [name, change, expected] of requests) {
    const bytes = captured('create_accounts', 'request');
    change(bytes);
    assert.equal(requestProblem(bytes), expected, name);
  }
});

const registers: readonly (readonly [string, Change, string | null])[] = [
  ...common,
  ['nothing', () => {}, null],
  ['of an ancient client', size(HEADER_SIZE), null],
  ['size', size(511), 'register: wrong size'],
  ['size', size(528), 'register: wrong size'],
  ['parent', put(143, 1), 'register: parent is not zero'],
  ['session', put(183, 1), 'register: session is not zero'],
  ['request', put(195, 1), 'register: request number is not zero'],
];

test('register requests keep the field rules', () => {
  for (const [name, change, expected] of registers) {
    const bytes = captured('register', 'request');
    change(bytes);
    assert.equal(requestProblem(bytes), expected, name);
  }
});

const pings: readonly (readonly [string, Change, string | null])[] = [
  ...common,
  ['nothing', () => {}, null],
  ['no session yet', clear(PingClientOffset.session, 8), null],
  ['size', size(272), 'size is not that of a header'],
  ['view', put(Offset.view, 1), 'view is not zero'],
  ['client', clear(PingClientOffset.client, 16), 'client is zero'],
  ['reserved', put(160, 1), 'reserved bytes are not zero'],
  ['reserved, last', put(255, 1), 'reserved bytes are not zero'],
];

test('client pings keep the field rules', () => {
  for (const [name, change, expected] of pings) {
    const bytes = captured('ping', 'ping_client');
    change(bytes);
    assert.equal(pingClientProblem(bytes), expected, name);
  }
});

test('every captured client message keeps the rules', () => {
  let seen = 0;
  for (const { step, bytes } of messageVectors) {
    const command = bytes[Offset.command];
    if (command === Command.request) assert.equal(requestProblem(bytes), null, step);
    else if (command === Command.pingClient) assert.equal(pingClientProblem(bytes), null, step);
    else continue;
    seen++;
  }
  assert.ok(seen >= 20);
});
