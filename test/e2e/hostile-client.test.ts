/**
 * Bad input against a real server: each has one clear outcome, shows in the counters and at most
 * once a second in the log, and neither the process nor any other connection suffers.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  accountCodec,
  CREATE_RESULT_SIZE,
  CreateTransferStatus,
  createTransferResultCodec,
  decodeMultiBatch,
  decodeRecords,
  EVENTS_MAX,
  encodeMultiBatch,
  encodeRecords,
  ID_SIZE,
  Operation,
  TRANSFER_SIZE,
  type Transfer,
  TransferFlags,
  transferCodec,
} from '../../src/ledger/index.ts';
import { blankAccount } from '../../src/ledger/ledger-test-helper.ts';
import { writeU32 } from '../../src/stdx/index.ts';
import {
  Command,
  EvictionReason,
  HEADER_SIZE,
  Offset,
  RequestOffset,
} from '../../src/wire/index.ts';
import {
  evictionOf,
  newClientId,
  ping,
  RawClient,
  RawSession,
  RELEASE,
  register,
  request,
  seal,
  sealHeaderOnly,
} from './raw-client.ts';
import { ServerProcess, until } from './server-process.ts';

let server: ServerProcess;
/** A client of good manners, connected all the time. */
let bystander: RawSession;

before(async () => {
  server = await ServerProcess.start();
  bystander = await RawSession.open(server.port);
});

after(async () => {
  assert.ok((await server.stop()) < 2_000, 'it ends within two seconds');
});

/** The bystander gets an answer, and the process has not been replaced. */
async function assertUnharmed(): Promise<void> {
  const body = encodeMultiBatch([new Uint8Array(ID_SIZE)], ID_SIZE);
  const reply = await bystander.call(Operation.lookupAccounts, body);
  assert.deepEqual(decodeMultiBatch(reply, 128)?.[0]?.length, 0);
  assert.ok(server.isAlive);
}

async function closedCount(reason: string): Promise<number> {
  return (await server.status()).clients.closed[reason] ?? 0;
}

/** Sends the bytes on a connection of its own, which has to be closed and counted. */
async function assertCloses(bytes: Uint8Array, reason: string): Promise<void> {
  const client = await RawClient.connect(server.port);
  client.send(bytes);
  await client.closed();
  assert.deepEqual(client.messages, [], `no answer to ${reason}`);
}

/** Sends the bytes and then something decent: the first gets no answer, the second does. */
async function assertIgnored(bytes: Uint8Array): Promise<void> {
  const client = await RawClient.connect(server.port);
  client.send(bytes);
  client.send(ping(newClientId(), 0));
  await client.next(Command.pongClient);
  client.close();
}

/** Lines of one kind come once a second at most: waits until the next one may. */
async function nextLine(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1_050));
}

function changed(bytes: Uint8Array, change: (bytes: Uint8Array) => void): Uint8Array {
  const copy = bytes.slice();
  change(copy);
  return copy;
}

test('A11a: each flipped byte of a header closes the connection', async () => {
  const valid = register(newClientId());
  const countBefore = await closedCount('header-checksum');
  for (let first = 0; first < HEADER_SIZE; first += 64) {
    const batch = Array.from({ length: 64 }, (_, i) => {
      const flipped = changed(valid, (bytes) => (bytes[first + i] ^= 0x40));
      return assertCloses(flipped, `byte ${first + i}`);
    });
    await Promise.all(batch);
  }
  assert.equal(await closedCount('header-checksum'), countBefore + HEADER_SIZE);
  const lines = server.logs.filter(({ event }) => event === 'client-header-checksum');
  assert.ok(lines.length >= 1 && lines.length <= 30, `${lines.length} lines: rate limited`);
  await assertUnharmed();
});

test('A11b: each flipped byte with a right checksum is refused or ignored, never believed', async () => {
  const valid = register(newClientId());
  const { op: opBefore } = await server.status();
  let closed = 0;
  let ignored = 0;
  for (let first = 16; first < HEADER_SIZE; first += 48) {
    const batch = Array.from({ length: 48 }, async (_, i) => {
      const offset = first + i;
      const bytes = changed(valid, (copy) => (copy[offset] ^= 0x80));
      sealHeaderOnly(bytes);
      // The body's own checksum, the cluster, size and command decide about the stream.
      const isFraming =
        (offset >= 32 && offset < 48) ||
        (offset >= 80 && offset < 100) ||
        offset === Offset.command;
      const isFreeField =
        (offset >= RequestOffset.client && offset < RequestOffset.client + 16) ||
        (offset >= Offset.release && offset < Offset.release + 4) ||
        (offset >= RequestOffset.previousRequestLatency && offset < RequestOffset.reserved);
      // A size that is possible makes the server wait for the rest of the message.
      if (isFreeField || offset === 96 || offset === 97) return;
      if (isFraming) {
        await assertCloses(bytes, `byte ${offset}`);
        closed += 1;
      } else {
        await assertIgnored(bytes);
        ignored += 1;
      }
    });
    await Promise.all(batch);
  }
  assert.ok(closed === 35 && ignored >= 150, `${closed} closed, ${ignored} ignored`);
  const { op, dropped } = await server.status();
  assert.equal(op, opBefore, 'nothing was executed');
  assert.ok(dropped['invalid-header'] >= 100);
  await assertUnharmed();
});

test('A11c, C03: a client of another cluster is refused with a line that names both', async () => {
  await nextLine();
  const countBefore = await closedCount('cluster');
  const foreign = changed(register(newClientId()), (bytes) => (bytes[Offset.cluster] = 1));
  for (let i = 0; i < 3; i++) await assertCloses(seal(foreign), 'another cluster');
  await server.logged(/^client of cluster 1 refused, this is cluster 0$/);
  assert.equal(await closedCount('cluster'), countBefore + 3);
  await assertUnharmed();
});

test('A11d: a client that claims to be a replica is ignored', async () => {
  const { dropped: droppedBefore } = await server.status();
  for (const replica of [1, 6, 255]) {
    const bytes = changed(register(newClientId()), (copy) => (copy[Offset.replica] = replica));
    await assertIgnored(seal(bytes));
  }
  const { dropped } = await server.status();
  assert.equal(dropped['invalid-header'], droppedBefore['invalid-header'] + 3);
  await assertUnharmed();
});

test('A11e: sizes that no message has close the connection', async () => {
  const countBefore = await closedCount('size');
  for (const size of [0, 255, 1_048_577, 0xffff_ffff]) {
    const bytes = changed(register(newClientId()), (copy) => writeU32(copy, Offset.size, size));
    await assertCloses(sealHeaderOnly(bytes), `size ${size}`);
  }
  assert.equal(await closedCount('size'), countBefore + 4);
  await assertUnharmed();
});

test('A11f: a body that is not what the header says closes the connection', async () => {
  const countBefore = await closedCount('body-checksum');
  for (const offset of [HEADER_SIZE, 300, 511]) {
    await assertCloses(
      changed(register(newClientId()), (bytes) => (bytes[offset] ^= 1)),
      `body byte ${offset}`,
    );
  }
  assert.equal(await closedCount('body-checksum'), countBefore + 3);
  await assertUnharmed();
});

test('A11g: commands between replicas close a client connection', async () => {
  const countBefore = await closedCount('unexpected-command');
  const known = [1, 2, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 24, 129, 130, 131];
  for (const command of known) {
    const bytes = changed(register(newClientId()), (copy) => (copy[Offset.command] = command));
    await assertCloses(seal(bytes), `command ${command}`);
  }
  assert.equal(await closedCount('unexpected-command'), countBefore + known.length);
  await assertUnharmed();
});

test('A12: unknown, reserved and retired commands close that connection and nothing else', async () => {
  const countBefore = await closedCount('unknown-command');
  const unknown = [0, 12, 21, 22, 23, 25, 99, 127, 133, 255];
  for (const command of unknown) {
    const bytes = changed(register(newClientId()), (copy) => (copy[Offset.command] = command));
    await assertCloses(seal(bytes), `command ${command}`);
  }
  assert.equal(await closedCount('unknown-command'), countBefore + unknown.length);
  await server.logged(/closed: unknown command \(\d+\)$/);
  await assertUnharmed();
});

const transferDefaults: Transfer = {
  id: 0n,
  debit_account_id: 1n,
  credit_account_id: 2n,
  amount: 1n,
  pending_id: 0n,
  user_data_128: 0n,
  user_data_64: 0n,
  user_data_32: 0,
  timeout: 0,
  ledger: 1,
  code: 1,
  flags: 0,
  timestamp: 0n,
};

async function createTransfers(session: RawSession, transfers: Transfer[]): Promise<number[]> {
  const body = encodeMultiBatch([encodeRecords(transferCodec, transfers)], TRANSFER_SIZE);
  const reply = await session.call(Operation.createTransfers, body);
  const results = decodeMultiBatch(reply, CREATE_RESULT_SIZE)?.[0];
  assert.ok(results !== undefined);
  return decodeRecords(createTransferResultCodec, results).map(({ status }) => status);
}

function repeat(status: number, count: number): number[] {
  return new Array<number>(count).fill(status);
}

test('B12: full batches of every sad kind, and empty ones, are answered in full', async () => {
  const session = await RawSession.open(server.port);
  const accounts = [1n, 2n].map((id) => ({ ...blankAccount, id }));
  const accountBody = encodeMultiBatch([encodeRecords(accountCodec, accounts)], 128);
  await session.call(Operation.createAccounts, accountBody);
  const full = <T>(make: (i: number) => T): T[] =>
    Array.from({ length: EVENTS_MAX }, (_, i) => make(i));
  const { created, exists, linked_event_failed, ledger_must_not_be_zero } = CreateTransferStatus;

  const failing = full((i) => ({ ...transferDefaults, id: BigInt(i + 1), ledger: 0 }));
  assert.deepEqual(
    await createTransfers(session, failing),
    repeat(ledger_must_not_be_zero, EVENTS_MAX),
  );

  const chain = full((i) => {
    const isLast = i === EVENTS_MAX - 1;
    const flags = isLast ? 0 : TransferFlags.linked;
    return { ...transferDefaults, id: 10_000n + BigInt(i), flags, ledger: isLast ? 0 : 1 };
  });
  assert.deepEqual(await createTransfers(session, chain), [
    ...repeat(linked_event_failed, EVENTS_MAX - 1),
    ledger_must_not_be_zero,
  ]);
  const ids = full((i) => 10_000n + BigInt(i));
  const idBytes = new Uint8Array(new BigUint64Array(ids.flatMap((id) => [id, 0n])).buffer);
  const lookup = encodeMultiBatch([idBytes], ID_SIZE);
  const found = await session.call(Operation.lookupTransfers, lookup);
  assert.deepEqual(decodeMultiBatch(found, TRANSFER_SIZE), [new Uint8Array(0)], 'rolled back');

  const same = full(() => ({ ...transferDefaults, id: 50_000n }));
  assert.deepEqual(await createTransfers(session, same), [
    created,
    ...repeat(exists, EVENTS_MAX - 1),
  ]);

  for (const [operation, eventSize, resultSize] of [
    [Operation.createAccounts, 128, 16],
    [Operation.createTransfers, 128, 16],
    [Operation.lookupAccounts, 16, 128],
    [Operation.lookupTransfers, 16, 128],
  ] as const) {
    const reply = await session.call(operation, encodeMultiBatch([new Uint8Array(0)], eventSize));
    assert.deepEqual(decodeMultiBatch(reply, resultSize), [new Uint8Array(0)]);
    assert.equal(reply.length, resultSize, 'the trailer alone, never an empty body');
  }
  session.client.close();
  await assertUnharmed();
});

test('C02: clients of other releases are evicted with the reason and both versions', async () => {
  const cases: readonly (readonly [number, number, RegExp])[] = [
    [
      0x0000_0e00,
      EvictionReason.clientReleaseTooLow,
      /^client of release 0\.14\.0 refused.*0\.17\.9/,
    ],
    [
      0x0000_0f03,
      EvictionReason.clientReleaseTooLow,
      /^client of release 0\.15\.3 refused.*0\.17\.9/,
    ],
    [
      RELEASE + 1,
      EvictionReason.clientReleaseTooHigh,
      /^client of release 0\.17\.10 refused.*0\.17\.9/,
    ],
  ];
  for (const [release, reason, line] of cases) {
    for (const message of [register(newClientId(), release), ping(newClientId(), 0, release)]) {
      const client = await RawClient.connect(server.port);
      client.send(message);
      assert.deepEqual(evictionOf(await client.next(Command.eviction)), {
        reason,
        release: RELEASE,
      });
      client.close();
    }
    await server.logged(line);
    await nextLine();
  }
  const { refused } = await server.status();
  assert.equal(refused['client-release-too-low'], 4);
  assert.equal(refused['client-release-too-high'], 2);
  await assertUnharmed();
});

test('a request above the limit is drained and its client evicted, not cut off', async () => {
  const small = await ServerProcess.start({ development: true });
  const client = await RawClient.connect(small.port);
  const id = newClientId();
  client.send(register(id));
  await client.next(Command.reply);
  const body = new Uint8Array(500_000);
  client.send(request({ client: id, session: 1, request: 1, operation: 147, body }));
  const { reason } = evictionOf(await client.next(Command.eviction));
  assert.equal(reason, EvictionReason.invalidRequestBodySize);
  client.send(ping(newClientId(), 0));
  await until(() => client.isClosed || client.messages.length > 0, 'an answer or the end');
  client.close();
  await small.stop();
});

test('C01: the 65th client takes the place of the least recently used one', async () => {
  const sessions: RawSession[] = [];
  for (let i = 0; i < 64; i++) {
    sessions.push(await RawSession.open(server.port));
    const used = sessions.at(-1);
    const body = encodeMultiBatch([new Uint8Array(ID_SIZE)], ID_SIZE);
    await used?.call(Operation.lookupAccounts, body);
  }
  // Everyone of before, the bystander among them, has made room already.
  const { sessions: count } = await server.status();
  assert.equal(count, 64);
  const extra = await RawSession.open(server.port);
  const oldest = sessions[0];
  const body = encodeMultiBatch([new Uint8Array(ID_SIZE)], ID_SIZE);
  oldest.client.send(oldest.build(Operation.lookupAccounts, body));
  const { reason } = evictionOf(await oldest.client.next(Command.eviction));
  assert.equal(reason, EvictionReason.noSession);
  await server.logged(/64 (sessions|are kept)/);
  await sessions[63].call(Operation.lookupAccounts, body);
  await extra.call(Operation.lookupAccounts, body);
  assert.equal((await server.status()).sessions, 64);
  for (const { client } of [...sessions, extra]) client.close();
  assert.ok(server.isAlive);
});

test('no log line of all this holds a control character', () => {
  assert.ok(server.logs.length > 5);
  for (const { message } of server.logs) assert.doesNotMatch(message, /\p{Cc}/u);
});
