/**
 * The client over real sockets against a scripted server: what users see when all goes well, when
 * a connection breaks, and when there is no ledger, or the wrong one, at the address.
 */
import assert from 'node:assert/strict';
import { createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import {
  CreateTransferStatus,
  createTransferResultCodec,
  decodeMultiBatch,
  encodeMultiBatch,
  encodeRecords,
  Operation,
  writeTrailer,
} from '../ledger/index.ts';
import { readU32, toHex, writeSafeU64, writeU32 } from '../stdx/index.ts';
import {
  Command,
  EvictionOffset,
  Framer,
  HEADER_SIZE,
  initHeader,
  MESSAGE_SIZE_MAX,
  MessagePool,
  Offset,
  OPERATION_REGISTER,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readSize,
  sealBody,
  sealHeader,
  sealReply,
} from '../wire/index.ts';
import type { ClientErrorCode } from './errors.ts';
import { connectLedger, type LedgerClient } from './ledger-client.ts';

const RELEASE = 0x1109;
const transfer = {
  id: 7n,
  debit_account_id: 1n,
  credit_account_id: 2n,
  amount: 10n,
  ledger: 1,
  code: 1,
};

type Handler = (request: Uint8Array, socket: Socket) => void;

test('objects go out as one batch and results come back in order', async () => {
  await withServer({}, async (client, server) => {
    const results = await client.createTransfers([transfer, { ...transfer, id: 8n }]);
    assert.deepEqual(results, [
      { timestamp: 1n, status: CreateTransferStatus.created },
      { timestamp: 2n, status: CreateTransferStatus.exists },
    ]);
    const body = server.requests[1].subarray(HEADER_SIZE);
    const batches = decodeMultiBatch(body, 128);
    assert.equal(batches?.length, 1);
    assert.equal(batches[0].length, 256);
    assert.equal(batches[0][0], 7);
    assert.equal(batches[0][128], 8);
  });
});

test('calls made at once go out one after another, in order', async () => {
  await withServer({}, async (client, server) => {
    const calls = [3n, 4n, 5n].map((id) => client.createTransfers([{ ...transfer, id }]));
    await Promise.all(calls);
    const ids = server.requests.slice(1).map((request) => request[HEADER_SIZE]);
    assert.deepEqual(ids, [3, 4, 5]);
    const numbers = server.requests.map((request) => readU32(request, RequestOffset.request));
    assert.deepEqual(numbers, [0, 1, 2, 3]);
  });
});

test('an invalid field or a batch too large sends nothing', async () => {
  await withServer({}, async (client, server) => {
    const bad = [transfer, { ...transfer, code: 70_000 }];
    await assert.rejects(client.createTransfers(bad), { code: 'ERR_FIELD_INVALID', field: 'code' });
    const many = new Array(8190).fill(transfer);
    await assert.rejects(client.createTransfers(many), { code: 'ERR_TOO_MUCH_DATA' });
    assert.equal(client.eventsMax(Operation.createTransfers), 8189);
    assert.equal(server.requests.length, 1);
  });
});

test('a request whose connection breaks is sent again, byte for byte', async () => {
  let drops = 2;
  const handler: Handler = (request, socket) => {
    if (drops-- > 0) socket.destroy();
    else answer(request, socket);
  };
  await withServer({ handler }, async (client, server) => {
    const results = await client.createTransfers([transfer]);
    assert.equal(results.length, 1);
    const sent = server.requests.slice(1).map(toHex);
    assert.equal(sent.length, 3);
    assert.equal(new Set(sent).size, 1);
  });
});

test('an eviction ends the client with its own code', async () => {
  const handler: Handler = (request, socket) => socket.write(eviction(request, 1));
  await withServer({ handler }, async (client) => {
    await assert.rejects(client.lookupAccounts([1n]), { code: 'ERR_CLIENT_EVICTED' });
    await assert.rejects(client.lookupAccounts([1n]), { code: 'ERR_CLIENT_CLOSED' });
  });
});

test('a release that the cluster refuses is an error with both releases', async () => {
  await withServer({ register: (r, s) => s.write(eviction(r, 2)) }, null, (error) => {
    assert.equal(error.code, 'ERR_CLIENT_RELEASE_TOO_LOW');
    assert.match(error.message, /0\.17\.9 is too low for the cluster's 0\.17\.9/);
  });
});

test('no answer within the request timeout closes the client', async () => {
  const handler: Handler = () => {};
  await withServer({ handler, requestTimeoutMs: 60 }, async (client) => {
    await assert.rejects(client.lookupAccounts([1n]), { code: 'ERR_REQUEST_TIMEOUT' });
    await assert.rejects(client.lookupAccounts([1n]), { code: 'ERR_CLIENT_CLOSED' });
  });
});

test('bodies given as bytes are sent from the memory that the caller filled', async () => {
  await withServer({}, async (client, server) => {
    const { connection } = client;
    const first = connection.openBatch();
    const second = connection.openBatch();
    assert.equal(connection.openBatch(), null);
    assert.ok(first !== null && second !== null);
    assert.equal(first.body.length, 1_048_320);
    const counts = new Uint16Array([1]);
    first.words.fill(0, 0, 32);
    first.words[0] = 77;
    const size = writeTrailer(first.body, 128, 128, counts, 1);
    const reply = await connection.submitBatch(Operation.createTransfers, first, size);
    assert.equal(reply.body.length, 32);
    assert.ok(reply.timestamp > 0n);
    assert.equal(server.requests[1][HEADER_SIZE], 77);
    connection.closeBatch(first);
    assert.notEqual(connection.openBatch(), null);
  });
});

test('a batch that was sealed ahead carries that checksum once, and a fresh one afterwards', async () => {
  await withServer({}, async (client, server) => {
    const { connection } = client;
    const batch = connection.openBatch();
    assert.ok(batch !== null);
    for (const [id, isSealed] of [
      [77, true],
      [78, false],
      [79, true],
    ] as const) {
      batch.words.fill(0, 0, 32);
      batch.words[0] = id;
      const size = writeTrailer(batch.body, 128, 128, new Uint16Array([1]), 1);
      if (isSealed) connection.sealBatch(batch, size);
      // The server's framer would refuse a body whose checksum is another one's.
      await connection.submitBatch(Operation.createTransfers, batch, size);
      assert.equal(server.requests.at(-1)?.[HEADER_SIZE], id);
    }
    assert.equal(server.requests.length, 4);
  });
});

test('a request is answered by whoever has it when the primary falls silent', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}).resume());
  const requests: number[] = [];
  const other = createServer((socket) => {
    receive(
      socket.on('error', () => {}),
      (request) => {
        requests.push(request[RequestOffset.operation]);
        answer(request, socket);
      },
    );
  });
  const addresses = [await listen(silent), await listen(other)];
  const began = performance.now();
  const client = await connectLedger({ addresses, connectTimeoutMs: 5000 });
  const results = await client.createTransfers([transfer]);
  const tookMs = performance.now() - began;
  client.close();
  silent.close();
  other.close();
  assert.equal(results.length, 1);
  assert.deepEqual(requests, [OPERATION_REGISTER, Operation.createTransfers]);
  assert.ok(tookMs < 500, `sent to both at once, yet it took ${tookMs} ms`);
});

test('what stands in the way of a connect is said', async () => {
  const cases: readonly [string, ((socket: Socket) => void) | null, ClientErrorCode, RegExp][] = [
    ['nobody', null, 'ERR_CONNECT_REFUSED', /^nobody listens at 127\.0\.0\.1:\d+/],
    [
      'closes',
      (s) => s.on('data', () => s.destroy()),
      'ERR_CONNECT_CLUSTER',
      /cluster 1, or .* too many/,
    ],
    [
      'another cluster',
      (s) => s.on('data', () => s.write(foreignPong())),
      'ERR_CONNECT_CLUSTER',
      /is cluster 258, not 1$/,
    ],
    [
      'a web server',
      (s) => s.on('data', () => s.write('HTTP/1.1 400 Bad Request\r\n'.repeat(20))),
      'ERR_PROTOCOL',
      /is not a ledger \(header-checksum\)/,
    ],
    ['silence', (s) => s.on('data', () => {}), 'ERR_CONNECT_TIMEOUT', /no primary answered at/],
  ];
  for (const [name, onSocket, code, message] of cases) {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      onSocket?.(socket);
    });
    const port = await listen(server);
    if (onSocket === null) server.close();
    const options = { addresses: port, cluster: 1n, connectTimeoutMs: 150 };
    await assert.rejects(connectLedger(options), (error: Error & { code: string }) => {
      assert.equal(error.code, code, name);
      assert.match(error.message, message, name);
      return true;
    });
    for (const socket of sockets) socket.destroy();
    server.close();
  }
  await assert.rejects(connectLedger({ addresses: [] }), { code: 'ERR_ADDRESS_INVALID' });
  await assert.rejects(connectLedger({ addresses: 0 }), { code: 'ERR_ADDRESS_INVALID' });
  await assert.rejects(connectLedger({ addresses: '1,1' }), { code: 'ERR_ADDRESS_INVALID' });
});

interface Scripted {
  readonly requests: Uint8Array[];
}

/** Runs a scripted server, connects a client to it, and cleans up. */
async function withServer(
  script: { handler?: Handler; register?: Handler; requestTimeoutMs?: number },
  run: ((client: LedgerClient, server: Scripted) => Promise<void>) | null,
  onRefused?: (error: Error & { code: string }) => void,
): Promise<void> {
  const requests: Uint8Array[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    receive(socket, (request) => {
      requests.push(request);
      const register = request[RequestOffset.operation] === OPERATION_REGISTER;
      const handler = register ? script.register : script.handler;
      (handler ?? answer)(request, socket);
    });
  });
  const addresses = await listen(server);
  try {
    const { requestTimeoutMs } = script;
    const timeout = requestTimeoutMs === undefined ? {} : { requestTimeoutMs };
    const client = await connectLedger({ addresses, connectTimeoutMs: 1000, ...timeout });
    await run?.(client, { requests });
    client.close();
    assert.notEqual(run, null, 'connected although it should not');
  } catch (error) {
    if (onRefused === undefined || !(error instanceof Error)) throw error;
    onRefused(error as Error & { code: string });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      assert.ok(address !== null && typeof address === 'object');
      resolve(address.port);
    });
  });
}

const pool = new MessagePool({
  requestSlotSize: MESSAGE_SIZE_MAX,
  requestSlots: 8,
  replySlots: 0,
  smallSlots: 16,
});

/** Requests of a connection, as copies; pings go unanswered. */
function receive(socket: Socket, onRequest: (request: Uint8Array) => void): void {
  const cluster = new Uint8Array(16);
  const framer = new Framer({ pool, cluster, requestSizeMax: MESSAGE_SIZE_MAX });
  socket.on('close', () => framer.destroy());
  socket.on('data', (chunk) => {
    for (let offset = 0; offset < chunk.length && !socket.destroyed; ) {
      const result = framer.push(chunk, offset);
      offset += result.consumed;
      if (result.message === null) continue;
      const bytes = result.message.bytes.slice(0, readSize(result.message.bytes));
      pool.release(result.message);
      if (readCommand(bytes) === Command.request) onRequest(bytes);
    }
  });
}

/** Creates get as many results as events, the second one `exists`; all else an empty batch. */
function answer(request: Uint8Array, socket: Socket): void {
  const operation = request[RequestOffset.operation];
  if (operation === OPERATION_REGISTER) {
    const body = new Uint8Array(64);
    writeU32(body, 0, 1_048_320);
    socket.write(reply(request, body));
    return;
  }
  const events = decodeMultiBatch(request.subarray(HEADER_SIZE), 128)?.[0].length ?? 0;
  const results = Array.from({ length: events / 128 }, (_, index) => ({
    timestamp: BigInt(index + 1),
    status: index === 0 ? CreateTransferStatus.created : CreateTransferStatus.exists,
  }));
  const payload = encodeRecords(createTransferResultCodec, results);
  socket.write(reply(request, encodeMultiBatch([payload], 16)));
}

let op = 1;
function reply(request: Uint8Array, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE + body.length);
  bytes.set(body, HEADER_SIZE);
  const cluster = new Uint8Array(16);
  const fields = { command: Command.reply, size: bytes.length, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view: 0, replica: 0 });
  bytes.set(request.subarray(Offset.checksum, 16), ReplyOffset.requestChecksum);
  bytes.set(request.subarray(RequestOffset.client, RequestOffset.client + 16), ReplyOffset.client);
  op += 1;
  writeSafeU64(bytes, ReplyOffset.op, op);
  writeSafeU64(bytes, ReplyOffset.commit, op);
  writeSafeU64(bytes, ReplyOffset.timestamp, op);
  writeU32(bytes, ReplyOffset.request, readU32(request, RequestOffset.request));
  bytes[ReplyOffset.operation] = request[RequestOffset.operation];
  sealReply(bytes, pool.checksum);
  return bytes;
}

function eviction(request: Uint8Array, reason: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const cluster = new Uint8Array(16);
  const fields = { command: Command.eviction, size: HEADER_SIZE, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view: 0, replica: 0 });
  bytes.set(
    request.subarray(RequestOffset.client, RequestOffset.client + 16),
    EvictionOffset.client,
  );
  bytes[EvictionOffset.reason] = reason;
  sealBody(bytes, pool.checksum);
  sealHeader(bytes, pool.checksum);
  return bytes;
}

/** A pong of cluster 258. */
function foreignPong(): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE);
  const cluster = new Uint8Array(16);
  cluster.set([2, 1]);
  const fields = { command: Command.pongClient, size: HEADER_SIZE, cluster, release: RELEASE };
  initHeader(bytes, { ...fields, view: 0, replica: 0 });
  sealBody(bytes, pool.checksum);
  sealHeader(bytes, pool.checksum);
  return bytes;
}
