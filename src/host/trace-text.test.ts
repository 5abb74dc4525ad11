import assert from 'node:assert/strict';
import { test } from 'node:test';
import { availableMemory } from './memory.ts';
import { traceText } from './trace-text.ts';

const releases = {
  clientRelease: '0.15.3',
  serverRelease: '0.17.9',
  clientReleaseMin: '0.17.0',
  sessionsMax: 64,
};

const cases: readonly (readonly [string, { readonly [name: string]: string | number }, string])[] =
  [
    [
      'client-evicted',
      { reason: 'client-release-too-low', ...releases },
      'client of release 0.15.3 refused, this server (0.17.9) serves 0.17.0 to 0.17.9',
    ],
    [
      'client-evicted',
      { reason: 'no-session', ...releases },
      'client evicted: it has no session (any more), 64 are kept',
    ],
    [
      'client-evicted',
      { reason: 'invalid-request-body', ...releases },
      'client evicted: invalid request body',
    ],
    ['checkpoint', { op: 63 }, 'checkpoint at operation 63 written'],
    ['something-new', {}, 'something new'],
  ];

for (const [event, fields, text] of cases) {
  test(`the trace ${event} ${fields['reason'] ?? ''} reads as a sentence`, () => {
    assert.equal(traceText(event, fields), text);
  });
}

test('the memory there is: the container’s when it has a limit, else the machine’s', () => {
  const MIB = 1_048_576;
  assert.equal(availableMemory(512 * MIB, 8_192 * MIB), 512 * MIB);
  assert.equal(availableMemory(0, 8_192 * MIB), 8_192 * MIB);
  assert.equal(availableMemory(2 ** 64, 8_192 * MIB), 8_192 * MIB);
});
