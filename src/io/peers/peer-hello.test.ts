/** Hellos survive the wire, and nothing else passes for one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChecksum, headerValid } from '../../wire/index.ts';
import {
  buildHello,
  buildHelloOk,
  confirms,
  type PeerIdentity,
  readAnswerer,
  readHello,
} from './peer-hello.ts';
import { helloProblem } from './peer-text.ts';

const checksum = createChecksum();
const own: PeerIdentity = {
  cluster: new Uint8Array(16).fill(9),
  replica: 2,
  replicaCount: 3,
  replicaId: new Uint8Array(16).fill(7),
  isRecovered: false,
  release: 0x1109,
};
const nonce = new Uint8Array(16).fill(1);
const verify = new Uint8Array(16).fill(2);

test('what is built can be read again', () => {
  for (const isRecovered of [false, true]) {
    for (const [asked, engine] of [[null, 'vsr'] as const, [verify, 'raft'] as const]) {
      const bytes = buildHello({ ...own, isRecovered, engine }, 1, nonce, asked, checksum);
      assert.ok(headerValid(bytes, checksum));
      assert.deepEqual(readHello(bytes), {
        replica: 2,
        replicaCount: 3,
        replicaId: own.replicaId,
        isRecovered,
        engine,
        target: 1,
        nonce,
        verify: asked,
      });
    }
  }
});

test('a helloOk says who answers, and yes to one nonce only', () => {
  const yes = buildHelloOk(own, nonce, checksum);
  assert.deepEqual(readAnswerer(yes), { replica: 2, replicaCount: 3 });
  assert.equal(confirms(yes, nonce), true);
  assert.equal(confirms(yes, verify), false);
  assert.equal(confirms(buildHelloOk(own, null, checksum), nonce), false);
});

test('a hello with anything else in it is none', () => {
  const good = buildHello(own, 1, nonce, verify, checksum);
  const spoiled: readonly [string, (bytes: Uint8Array) => void][] = [
    ['no nonce', (bytes) => bytes.fill(0, 128, 144)],
    ['no id', (bytes) => bytes.fill(0, 160, 176)],
    ['unknown flag', (bytes) => bytes.fill(4, 178, 179)],
    ['reserved byte', (bytes) => bytes.fill(1, 179, 180)],
    ['last byte', (bytes) => bytes.fill(1, 255, 256)],
  ];
  for (const [what, spoil] of spoiled) {
    const bytes = good.slice();
    spoil(bytes);
    assert.equal(readHello(bytes), null, what);
  }
});

test('each way to be the wrong replica has its words', () => {
  const hello = readHello(buildHello(own, 1, nonce, null, checksum));
  assert.ok(hello !== null);
  const here = { ...own, replica: 1 };
  assert.equal(helloProblem(here, hello), null);
  assert.match(helloProblem({ ...here, replica: 0 }, hello) ?? '', /replica 1 here, .* replica 0/);
  assert.match(helloProblem({ ...here, replica: 2 }, hello) ?? '', /replica 2, as is this one/);
  assert.match(helloProblem({ ...here, replicaCount: 5 }, hello) ?? '', /3 replicas, there are 5/);
  const raft = { ...hello, engine: 'raft' } as const;
  assert.match(helloProblem(here, raft) ?? '', /it runs raft, this replica vsr/);
  assert.match(helloProblem({ ...here, engine: 'raft' }, hello) ?? '', /it runs vsr, .* raft/);
  assert.match(helloProblem(here, { ...hello, replica: 3 }) ?? '', /replica 3, there are 3/);
});
