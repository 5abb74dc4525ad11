import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, readSafeU64, toHex, writeSafeU64, writeU32 } from '../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  initHeader,
  type Message,
  MessagePool,
  Offset,
  PrepareOffset,
  ReplyOffset,
  RequestOffset,
  readSize,
  sealHeader,
  sealReply,
} from '../wire/index.ts';
import { BLOCK_SIZE_MAX, CHECKPOINT_SLACK_OPS, CLIENTS_MAX } from './limits.ts';
import { Sessions } from './sessions.ts';
import { SessionBlocks } from './sessions-blocks.ts';

const frame = { cluster: new Uint8Array(16), view: 1, release: 0x1109, replica: 0 };

function makePool(extraReplies: number = 0): MessagePool {
  const sizes = { requestSlotSize: 4096, requestSlots: 1, smallSlots: 1 };
  return new MessagePool({ ...sizes, replySlots: CLIENTS_MAX + 2 + extraReplies, poison: true });
}

/** A session table driven by operations alone, and the dumb twin of it. */
class Driver {
  readonly pool: MessagePool;
  readonly sessions: Sessions;
  op = 0;
  /** client → [session, request, op of the last reply]. */
  readonly model = new Map<number, [number, number, number]>();

  constructor(pool: MessagePool = makePool()) {
    this.pool = pool;
    this.sessions = new Sessions(pool);
  }

  /** Commits a register (request 0) or a request with a reply of that size. */
  commit(client: number, request: number, bodySize: number = 0): string {
    this.op++;
    const prepare = new Uint8Array(HEADER_SIZE);
    initHeader(prepare, { ...frame, command: Command.prepare, size: HEADER_SIZE });
    writeSafeU64(prepare, PrepareOffset.client, client);
    writeSafeU64(prepare, PrepareOffset.op, this.op);
    writeU32(prepare, PrepareOffset.request, request);
    prepare[PrepareOffset.operation] = request === 0 ? 2 : 128;
    sealHeader(prepare, this.pool.checksum);
    const reply = this.#reply(client, request, bodySize);
    const change = this.sessions.commit(prepare, reply);
    this.pool.release(reply);
    this.#commitModel(client, request);
    return change;
  }

  check(client: number, session: number, request: number, change?: (b: Uint8Array) => void) {
    const bytes = new Uint8Array(HEADER_SIZE);
    initHeader(bytes, { ...frame, command: Command.request, size: HEADER_SIZE });
    writeSafeU64(bytes, RequestOffset.client, client);
    writeSafeU64(bytes, RequestOffset.session, session);
    writeU32(bytes, RequestOffset.request, request);
    bytes[RequestOffset.operation] = request === 0 ? 2 : 128;
    const id = new Uint8Array(16);
    writeSafeU64(id, 0, client);
    const entry = this.sessions.find(id, 0);
    if (entry >= 0) {
      const { bytes: reply } = this.sessions.reply(entry);
      const at = ReplyOffset.context;
      bytes.set(reply.subarray(at, at + 16), RequestOffset.parent);
      const checksumAt = ReplyOffset.requestChecksum;
      bytes.set(reply.subarray(checksumAt, checksumAt + 16), Offset.checksum);
    }
    change?.(bytes);
    return this.sessions.check(bytes);
  }

  #reply(client: number, request: number, bodySize: number): Message {
    const reply = this.pool.acquire('reply')!;
    const size = HEADER_SIZE + bodySize;
    initHeader(reply.bytes, { ...frame, command: Command.reply, size });
    new Prng(this.op).fill(reply.bytes.subarray(HEADER_SIZE, size));
    writeSafeU64(reply.bytes, ReplyOffset.client, client);
    writeSafeU64(reply.bytes, ReplyOffset.op, this.op);
    writeSafeU64(reply.bytes, ReplyOffset.commit, this.op);
    writeU32(reply.bytes, ReplyOffset.request, request);
    reply.bytes[ReplyOffset.requestChecksum] = request;
    sealReply(reply.bytes, this.pool.checksum);
    return reply;
  }

  #commitModel(client: number, request: number): void {
    if (request > 0) {
      const entry = this.model.get(client);
      if (entry !== undefined) this.model.set(client, [entry[0], request, this.op]);
      return;
    }
    if (this.model.size === CLIENTS_MAX) {
      const [oldest] = [...this.model].sort((a, b) => a[1][2] - b[1][2]);
      this.model.delete(oldest![0]);
    }
    this.model.set(client, [this.op, 0, this.op]);
  }

  /** The table as the model would print it, and as it is. */
  compare(): void {
    const actual = new Map<number, [number, number, number]>();
    for (let entry = 0; entry < CLIENTS_MAX; entry++) {
      if (!this.sessions.has(entry)) continue;
      const { bytes } = this.sessions.reply(entry);
      const client = readSafeU64(this.sessions.client(entry), 0)!;
      const request = new DataView(bytes.buffer, bytes.byteOffset).getUint32(232, true);
      const op = readSafeU64(bytes, ReplyOffset.op)!;
      actual.set(client, [this.sessions.session(entry), request, op]);
    }
    const byClient = (map: Map<number, unknown>) => [...map].sort((a, b) => a[0] - b[0]);
    assert.deepEqual(byClient(actual), byClient(this.model));
    assert.equal(this.sessions.count, this.model.size);
  }
}

test('verdicts', () => {
  const driver = new Driver();
  driver.commit(9, 0);
  driver.commit(1, 0);
  const check = driver.check.bind(driver);
  assert.equal(check(1, 0, 0), 'resend');
  assert.equal(check(1, 2, 1), 'accept');
  driver.commit(1, 1);
  assert.equal(check(1, 2, 2), 'accept');
  assert.equal(check(1, 2, 1), 'resend');
  assert.equal(
    check(1, 2, 1, (b) => b.fill(7, 0, 16)),
    'request-forked',
  );
  assert.equal(
    check(1, 2, 2, (b) => b.fill(7, 128, 144)),
    'request-parent',
  );
  assert.equal(check(1, 2, 3), 'request-gap');
  assert.equal(check(1, 0, 0), 'request-older');
  assert.equal(check(1, 1, 2), 'session-too-low');
  assert.equal(check(1, 3, 2), 'session-newer');
  assert.equal(
    check(1, 2, 2, (b) => writeU32(b, Offset.release, 0x1100)),
    'session-release-mismatch',
  );
  assert.equal(check(5, 3, 1), 'no-session');
  assert.equal(check(5, 0, 0), 'accept');
});

test('commits change the table, and the oldest reply makes room', () => {
  const driver = new Driver();
  for (let client = 1; client <= CLIENTS_MAX; client++) {
    assert.equal(driver.commit(client, 0), 'registered');
  }
  assert.equal(driver.commit(1, 1), 'replied');
  assert.equal(driver.commit(1000, 0), 'registered-evicting');
  assert.equal(driver.check(2, 2, 1), 'no-session');
  assert.equal(driver.commit(2, 1), 'none', 'it was under way when it was evicted');
  assert.equal(driver.check(1, 1, 2), 'accept');
  driver.compare();
  driver.sessions.releaseMessages();
  assert.equal(driver.pool.leaked(), 0);
});

test('random histories, checkpoints and restarts agree with the model', () => {
  const prng = new Prng(77);
  const disk = new Map<string, Uint8Array>();
  let driver = new Driver();
  let blocks = new SessionBlocks(driver.sessions, driver.pool);
  const requests = new Map<number, number>();
  let pieces = 0;
  let deletions = 0;
  for (let round = 0; round < 40; round++) {
    for (let i = prng.below(30); i > 0; i--) {
      const client = 1 + prng.below(90);
      if (!driver.model.has(client)) {
        driver.commit(client, 0);
        requests.set(client, 0);
      } else {
        const request = requests.get(client)! + 1;
        requests.set(client, request);
        const size = prng.chance(1, 6) ? prng.below(1_048_320) : prng.below(500);
        driver.commit(client, request, size);
      }
    }
    driver.compare();
    blocks.cut();
    let last = '';
    for (let block = blocks.slice(); block !== null; block = blocks.slice()) {
      const name = `${block.kind}/${String(block.index).padStart(3, '0')}`;
      assert.ok(name > last, 'ascending');
      last = name;
      assert.ok(block.bytes.length <= BLOCK_SIZE_MAX);
      if (block.index % 4 > 0) pieces++;
      if (block.bytes.length === 0) deletions++;
      if (block.bytes.length === 0) disk.delete(name);
      else disk.set(name, block.bytes.slice());
    }
    if (!prng.chance(1, 3)) continue;
    const root = toHex(driver.sessions.root());
    const { op, model, sessions } = driver;
    sessions.releaseMessages();
    driver = new Driver();
    driver.op = op;
    for (const [client, entry] of model) driver.model.set(client, entry);
    blocks = new SessionBlocks(driver.sessions, driver.pool);
    for (const name of [...disk.keys()].sort((a, b) => (a < b ? -1 : 1))) {
      const [kind, index] = name.split('/').map(Number);
      blocks.restore({ kind: kind!, index: index!, bytes: disk.get(name)! });
    }
    blocks.restored();
    driver.compare();
    assert.equal(toHex(driver.sessions.root()), root);
  }
  assert.ok(pieces > 50 && deletions > 20, 'replies of several pieces came and went');
  for (let entry = 0; entry < CLIENTS_MAX; entry++) {
    assert.ok(readSize(driver.sessions.reply(entry).bytes) >= HEADER_SIZE);
  }
});

test('a cut shows one moment though sessions go on while it is handed out', () => {
  const prng = new Prng(78);
  // Each operation beyond the cut takes one slot more, while the cut holds the reply before it.
  const driver = new Driver(makePool(CHECKPOINT_SLACK_OPS));
  const blocks = new SessionBlocks(driver.sessions, driver.pool);
  const disk = new Map<string, Uint8Array>();
  const requests = new Map<number, number>();
  let interleaved = 0;
  const commit = (): void => {
    const client = 1 + prng.below(70);
    const isNew = !driver.model.has(client);
    const request = isNew ? 0 : requests.get(client)! + 1;
    requests.set(client, request);
    driver.commit(client, request, prng.chance(1, 3) ? prng.below(600_000) : 50);
  };
  for (let round = 0; round < 20; round++) {
    for (let i = prng.below(30); i > 0; i--) commit();
    const root = toHex(driver.sessions.root());
    const count = blocks.cut();
    let handedOut = 0;
    let left = CHECKPOINT_SLACK_OPS;
    for (let block = blocks.slice(); block !== null; block = blocks.slice()) {
      handedOut++;
      const name = `${block.kind}/${String(block.index).padStart(3, '0')}`;
      for (; left > 0 && prng.chance(1, 3); left--) {
        commit();
        interleaved++;
      }
      if (block.bytes.length === 0) disk.delete(name);
      else disk.set(name, block.bytes.slice());
    }
    assert.equal(handedOut, count, 'as many blocks as the cut has said');
    const copy = new Driver();
    const restored = new SessionBlocks(copy.sessions, copy.pool);
    for (const name of [...disk.keys()].sort((a, b) => (a < b ? -1 : 1))) {
      const [kind, index] = name.split('/').map(Number);
      restored.restore({ kind: kind!, index: index!, bytes: disk.get(name)! });
    }
    restored.restored();
    assert.equal(toHex(copy.sessions.root()), root);
  }
  assert.ok(interleaved > 100, `only ${interleaved} commits between blocks`);
  // A cut that nobody wants any more holds nothing back.
  commit();
  blocks.cut();
  blocks.releaseMessages();
  driver.sessions.releaseMessages();
  assert.equal(driver.pool.leaked(), 0);
});

test('an unchanged table writes nothing', () => {
  const driver = new Driver();
  const blocks = new SessionBlocks(driver.sessions, driver.pool);
  blocks.cut();
  assert.equal(blocks.slice(), null);
  driver.commit(1, 0);
  blocks.cut();
  assert.notEqual(blocks.slice(), null);
  assert.notEqual(blocks.slice(), null);
  assert.equal(blocks.slice(), null);
  blocks.cut();
  assert.equal(blocks.slice(), null);
});
