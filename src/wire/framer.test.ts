import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prng, readU32, writeU32 } from '../stdx/index.ts';
import { createChecksum } from './checksum.ts';
import { Framer, type FramerOptions } from './framer.ts';
import {
  Command,
  commandName,
  HEADER_SIZE,
  initHeader,
  isKnownCommand,
  MESSAGE_SIZE_MAX,
  Offset,
  readCommand,
  readSize,
  sealBody,
  sealHeader,
} from './header.ts';
import type { MessagePool } from './pool.ts';
import { checksumKinds, concat, messageVectors, testPool } from './vectors-test-helper.ts';

const cluster = new Uint8Array(16);
const checksum = createChecksum();
const REQUEST_SIZE_MAX = 16_384;

/** A sealed message with a recognisable body. */
function make(command: Command, size: number, fields: { cluster?: Uint8Array } = {}): Uint8Array {
  const bytes = new Uint8Array(size);
  const common = { command, size, view: 3, release: 0x1109, replica: 0 };
  initHeader(bytes, { ...common, cluster: fields.cluster ?? cluster });
  for (let i = HEADER_SIZE; i < size; i++) bytes[i] = i * 7 + size;
  return seal(bytes);
}

function seal(bytes: Uint8Array): Uint8Array {
  sealBody(bytes, checksum);
  sealHeader(bytes, checksum);
  return bytes;
}

function framerOf(pool: MessagePool, options: Partial<FramerOptions> = {}): Framer {
  return new Framer({ pool, cluster, requestSizeMax: REQUEST_SIZE_MAX, ...options });
}

/**
 * Pushes all chunks and writes down each outcome but `need-more`, with command and size; messages
 * are compared with `expected` in turn and released.
 */
function run(
  pool: MessagePool,
  framer: Framer,
  chunks: readonly Uint8Array[],
  expected: readonly Uint8Array[] = [],
): string[] {
  const lines: string[] = [];
  let messages = 0;
  for (const chunk of chunks) {
    let offset = 0;
    do {
      const result = framer.push(chunk, offset);
      offset += result.consumed;
      assert.ok(offset <= chunk.length);
      if (result.outcome === 'need-more') {
        assert.equal(offset, chunk.length);
      } else if (result.outcome === 'error') {
        assert.equal(result.message, null);
        lines.push(result.error?.kind ?? 'no error');
        return lines;
      } else {
        const { message } = result;
        assert.ok(message !== null && result.error === null);
        const command = commandName(readCommand(message.bytes));
        lines.push(`${result.outcome} ${command} ${readSize(message.bytes)}`);
        const wanted = expected[messages++];
        if (wanted !== undefined) {
          const kept = result.outcome === 'oversize' ? HEADER_SIZE : wanted.length;
          assert.deepEqual(message.bytes.slice(0, kept), wanted.slice(0, kept));
        }
        pool.release(message);
      }
    } while (offset < chunk.length);
  }
  return lines;
}

function once(bytes: Uint8Array, options: Partial<FramerOptions> = {}): string[] {
  const pool = testPool();
  const framer = framerOf(pool, options);
  const lines = run(pool, framer, [bytes]);
  framer.destroy();
  assert.equal(pool.leaked(), 0);
  return lines;
}

const mixed = [
  make(Command.pingClient, HEADER_SIZE),
  make(Command.request, 512),
  make(Command.commit, HEADER_SIZE),
  make(Command.request, 1000),
  make(Command.request, REQUEST_SIZE_MAX + 16),
  make(Command.prepareOk, HEADER_SIZE),
];
const mixedLines = [
  'message pingClient 256',
  'message request 512',
  'message commit 256',
  'message request 1000',
  'oversize request 16400',
  'message prepareOk 256',
];

test('captured messages come out as they went in, in one piece, with every kind', () => {
  const all = messageVectors.map(({ bytes }) => bytes);
  for (const checksumKind of checksumKinds) {
    const pool = testPool({ checksumKind });
    const framer = framerOf(pool);
    const lines = run(pool, framer, [concat(all)], all);
    assert.equal(lines.length, all.length);
    assert.ok(lines.every((line) => line.startsWith('message')));
    assert.equal(pool.leaked(), 0);
  }
});

test('one byte at a time: each outcome comes with the last byte of its message', () => {
  const pool = testPool();
  const framer = framerOf(pool);
  const stream = concat(mixed);
  const transcript: string[] = [];
  for (let i = 0; i < stream.length; i++) {
    const lines = run(pool, framer, [stream.subarray(i, i + 1)]);
    for (const line of lines) transcript.push(`byte ${i + 1}: ${line}`);
  }
  assert.deepEqual(transcript, [
    'byte 256: message pingClient 256',
    'byte 768: message request 512',
    'byte 1024: message commit 256',
    'byte 2024: message request 1000',
    'byte 18424: oversize request 16400',
    'byte 18680: message prepareOk 256',
  ]);
  assert.equal(pool.leaked(), 0);
});

test('a stream of several messages survives a cut at every position', () => {
  const pool = testPool();
  const short = mixed.slice(0, 4);
  const stream = concat(short);
  for (let cut = 0; cut <= stream.length; cut++) {
    const chunks = [stream.subarray(0, cut), stream.subarray(cut)];
    assert.deepEqual(run(pool, framerOf(pool), chunks, short), mixedLines.slice(0, 4), `${cut}`);
  }
  assert.equal(pool.leaked(), 0);
});

test('every pair of cuts around the borders of header and body', () => {
  const pool = testPool();
  const stream = concat(mixed);
  const borders: number[] = [];
  let start = 0;
  for (const { length } of mixed) {
    for (const border of [start, start + HEADER_SIZE]) {
      for (const near of [-1, 0, 1]) if (border + near > 0) borders.push(border + near);
    }
    start += length;
  }
  for (const a of borders) {
    for (const b of borders) {
      if (b < a) continue;
      const chunks = [stream.subarray(0, a), stream.subarray(a, b), stream.subarray(b)];
      assert.deepEqual(run(pool, framerOf(pool), chunks, mixed), mixedLines, `${a}, ${b}`);
    }
  }
});

test('random cuts, random messages, all sizes of slots', () => {
  const prng = new Prng(11);
  const pool = testPool();
  const kinds = [Command.request, Command.reply, Command.prepare, Command.ping, Command.headers];
  for (let i = 0; i < 60; i++) {
    const messages: Uint8Array[] = [];
    for (let n = prng.between(1, 8); n > 0; n--) {
      const command = prng.pick(kinds);
      const large = command === Command.reply ? 100_000 : 15_000;
      messages.push(make(command, HEADER_SIZE + prng.below(prng.chance(1, 3) ? large : 5000)));
    }
    const stream = concat(messages);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < stream.length; ) {
      const size = prng.below(prng.pick([3, 300, 20_000]));
      chunks.push(stream.subarray(at, at + size));
      at += size;
    }
    assert.equal(run(pool, framerOf(pool), chunks, messages).length, messages.length);
  }
  assert.equal(pool.leaked(), 0);
});

test('the message is a copy: the chunk may be used again at once', () => {
  const pool = testPool();
  const bytes = make(Command.request, 700);
  const chunk = bytes.slice();
  const { message } = framerOf(pool).push(chunk, 0);
  chunk.fill(0);
  assert.deepEqual(message?.bytes.slice(0, 700), bytes);
});

test('which slot a message gets', () => {
  const table: readonly (readonly [Command, number, string])[] = [
    [Command.request, 256, 'request'],
    [Command.request, REQUEST_SIZE_MAX, 'request'],
    [Command.request, REQUEST_SIZE_MAX + 1, 'small'],
    [Command.prepare, 256, 'request'],
    [Command.prepareOk, 256, 'small'],
    [Command.headers, 4096, 'small'],
    [Command.headers, 4097, 'reply'],
    [Command.reply, 256, 'small'],
    [Command.reply, MESSAGE_SIZE_MAX, 'reply'],
  ];
  const pool = testPool();
  for (const [command, size, expected] of table) {
    const { message } = framerOf(pool).push(make(command, size), 0);
    assert.ok(message !== null);
    assert.equal(message.slotClass, expected, `${commandName(command)} ${size}`);
    pool.release(message);
  }
});

/** Requests around the limits, with a ping behind them that must still be found. */
test('a request above the limit is drained, header kept; one above 1 MiB is refused', () => {
  const ping = make(Command.pingClient, HEADER_SIZE);
  const table: readonly (readonly [number, string[]])[] = [
    [REQUEST_SIZE_MAX, ['message request 16384', 'message pingClient 256']],
    [REQUEST_SIZE_MAX + 1, ['oversize request 16385', 'message pingClient 256']],
    [MESSAGE_SIZE_MAX, ['oversize request 1048576', 'message pingClient 256']],
  ];
  for (const [size, expected] of table) {
    const request = make(Command.request, size);
    const stream = concat([request, ping]);
    for (const chunkSize of [100, 255, 256, 257, 65_536, stream.length]) {
      const pool = testPool();
      const chunks: Uint8Array[] = [];
      for (let i = 0; i < stream.length; i += chunkSize) {
        chunks.push(stream.subarray(i, i + chunkSize));
      }
      const lines = run(pool, framerOf(pool), chunks, [request, ping]);
      assert.deepEqual(lines, expected, `${size} in ${chunkSize}`);
      assert.equal(pool.leaked(), 0);
    }
  }
  const tooLarge = make(Command.request, 300);
  writeU32(tooLarge, Offset.size, MESSAGE_SIZE_MAX + 1);
  sealHeader(tooLarge, checksum);
  assert.deepEqual(once(tooLarge), ['size']);
});

test('a drained body is not checked, and does not reach the slot', () => {
  const pool = testPool();
  const request = make(Command.request, REQUEST_SIZE_MAX + 100);
  request[5000] ^= 1;
  const { outcome, message, consumed } = framerOf(pool).push(request, 0);
  assert.equal(outcome, 'oversize');
  assert.equal(consumed, request.length);
  assert.ok(message !== null);
  assert.deepEqual(message.bytes.slice(0, HEADER_SIZE), request.slice(0, HEADER_SIZE));
  assert.ok(message.bytes.slice(HEADER_SIZE).every((byte) => byte === 0));
});

test('only requests are drained: what else is too large is refused', () => {
  assert.deepEqual(once(make(Command.prepare, REQUEST_SIZE_MAX + 1)), ['size']);
  const pool = testPool({ replySlots: 0 });
  assert.deepEqual(run(pool, framerOf(pool), [make(Command.reply, 5000)]), ['size']);
  assert.deepEqual(run(pool, framerOf(pool), [make(Command.reply, 4096)]), ['message reply 4096']);
});

test('each header byte flipped: the header checksum fails', () => {
  const bytes = make(Command.request, 300);
  for (let i = 0; i < HEADER_SIZE; i++) {
    for (const bit of [1, 0x80]) {
      const wrong = bytes.slice();
      wrong[i] ^= bit;
      assert.deepEqual(once(wrong), ['header-checksum'], `byte ${i}`);
    }
  }
});

test('each header byte flipped and resealed: the outcome depends on the field', () => {
  const bytes = make(Command.request, 300);
  for (let i = 16; i < HEADER_SIZE; i++) {
    for (const bit of [1, 0x80]) {
      const changed = bytes.slice();
      changed[i] ^= bit;
      checksum.digest(changed, 16, HEADER_SIZE - 16, changed, 0);
      const what = `byte ${i}, bit ${bit}`;
      const lines = once(changed);
      if (i >= Offset.checksumBody && i < Offset.checksumBody + 16) {
        assert.deepEqual(lines, ['body-checksum'], what);
      } else if (i >= Offset.cluster && i < Offset.cluster + 16) {
        assert.deepEqual(lines, ['cluster'], what);
      } else if (i >= Offset.size && i < Offset.size + 4) {
        const size = readU32(changed, Offset.size);
        const wrong = size < HEADER_SIZE || size > MESSAGE_SIZE_MAX;
        // 301 and above: waits for more. 172: too small for a header.
        if (wrong) assert.deepEqual(lines, ['size'], what);
        else assert.deepEqual(lines, [], what);
      } else if (i === Offset.command) {
        // One flip makes it a pongClient, which has no body; the other a command nobody knows.
        assert.deepEqual(lines, [changed[i] === Command.pongClient ? 'size' : 'unknown-command']);
      } else {
        assert.deepEqual(lines, ['message request 300'], what);
      }
    }
  }
});

test('all 256 commands: the known ones pass, reserved and retired ones do not', () => {
  for (let command = 0; command < 256; command++) {
    const bytes = make(Command.ping, HEADER_SIZE);
    bytes[Offset.command] = command;
    checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, 0);
    const known = isKnownCommand(command);
    const expected = known ? `message ${commandName(command)} 256` : 'unknown-command';
    assert.deepEqual(once(bytes), [expected]);
  }
});

test('a list of commands shuts out the rest before their bodies arrive', () => {
  const commands = [Command.request, Command.pingClient];
  assert.deepEqual(once(make(Command.request, 300), { commands }), ['message request 300']);
  const header = make(Command.prepare, 300).subarray(0, HEADER_SIZE);
  assert.deepEqual(once(header, { commands }), ['unexpected-command']);
});

test('faults are reported in the order of validation', () => {
  const foreign = new Uint8Array(16).fill(9);
  const spoil: { [name: string]: (bytes: Uint8Array) => void } = {
    cluster: (bytes) => bytes.set(foreign, Offset.cluster),
    'body-checksum': (bytes) => {
      bytes[299] ^= 1;
    },
    size: (bytes) => writeU32(bytes, Offset.size, 255),
    'unknown-command': (bytes) => {
      bytes[Offset.command] = 99;
    },
    'header-checksum': (bytes) => {
      bytes[3] ^= 1;
    },
  };
  const names = Object.keys(spoil);
  // All subsets: the one that comes last in the table is found first.
  for (let subset = 1; subset < 1 << names.length; subset++) {
    const bytes = make(Command.request, 300);
    const chosen = names.filter((_, i) => (subset >> i) & 1);
    for (const name of chosen) {
      if (name === 'header-checksum') checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, 0);
      spoil[name]?.(bytes);
    }
    if (!chosen.includes('header-checksum')) {
      checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, 0);
    }
    assert.deepEqual(once(bytes), [chosen.at(-1)], chosen.join(' '));
  }
});

test('errors say what was found', () => {
  const pool = testPool();
  const foreign = new Uint8Array(16).map((_, i) => i + 1);
  const result = framerOf(pool).push(make(Command.ping, 256, { cluster: foreign }), 0);
  assert.deepEqual(result.error, { kind: 'cluster', cluster: foreign });
  const unknown = make(Command.ping, 256);
  unknown[Offset.command] = 255;
  checksum.digest(unknown, 16, 240, unknown, 0);
  assert.deepEqual(framerOf(pool).push(unknown, 0).error, {
    kind: 'unknown-command',
    command: 255,
  });
  const large = make(Command.ping, 256);
  writeU32(large, Offset.size, 2 ** 32 - 1);
  sealHeader(large, checksum);
  const { error } = framerOf(pool).push(large, 0);
  assert.deepEqual(error, { kind: 'size', command: Command.ping, size: 2 ** 32 - 1 });
});

test('after an error everything is ignored until reset', () => {
  const pool = testPool();
  const framer = framerOf(pool);
  const good = make(Command.request, 300);
  const wrong = good.slice();
  wrong[280] ^= 1;
  assert.deepEqual(run(pool, framer, [wrong]), ['body-checksum']);
  const again = framer.push(good, 10);
  assert.deepEqual([again.outcome, again.consumed], ['error', 290]);
  assert.equal(again.error?.kind, 'body-checksum');
  framer.reset();
  assert.deepEqual(run(pool, framer, [good]), ['message request 300']);
  assert.equal(pool.leaked(), 0);
});

test('a full pool blocks at the header; the rest goes on when a slot is free', () => {
  const request = make(Command.request, 600);
  const big = make(Command.request, REQUEST_SIZE_MAX + 600);
  const ping = make(Command.ping, HEADER_SIZE);
  for (const [bytes, slotClass] of [
    [request, 'request'],
    [big, 'small'],
    [ping, 'small'],
  ] as const) {
    const expected = bytes === big ? 'oversize' : 'message';
    for (const cut of [1, 255, 256, 257, 400, bytes.length]) {
      const pool = testPool({ requestSlots: 1, smallSlots: 1 });
      const framer = framerOf(pool);
      const holder = pool.acquire(slotClass);
      assert.ok(holder !== null);
      const stream = concat([bytes, ping]);
      let offset = 0;
      for (const end of [Math.min(cut, stream.length), stream.length]) {
        const result = framer.push(stream.subarray(0, end), offset);
        offset += result.consumed;
        assert.equal(result.outcome, end < HEADER_SIZE ? 'need-more' : 'blocked');
        assert.equal(offset, Math.min(end, HEADER_SIZE));
      }
      // Trying again changes nothing; nothing is lost.
      assert.equal(framer.push(stream, offset).outcome, 'blocked');
      assert.equal(framer.push(stream, offset).consumed, 0);
      pool.release(holder);
      const result = framer.push(stream, offset);
      assert.equal(result.outcome, expected);
      assert.ok(result.message !== null);
      const kept = expected === 'oversize' ? HEADER_SIZE : bytes.length;
      assert.deepEqual(result.message.bytes.slice(0, kept), bytes.slice(0, kept));
      pool.release(result.message);
      offset += result.consumed;
      assert.deepEqual(run(pool, framer, [stream.subarray(offset)]), ['message ping 256']);
    }
  }
});

test('a blocked message without a body needs only an empty push', () => {
  const pool = testPool({ smallSlots: 1 });
  const framer = framerOf(pool);
  const holder = pool.acquire('small');
  assert.ok(holder !== null);
  const ping = make(Command.ping, HEADER_SIZE);
  assert.deepEqual(framer.push(ping, 0).consumed, HEADER_SIZE);
  pool.release(holder);
  assert.equal(framer.push(ping, HEADER_SIZE).outcome, 'message');
});

test('reset gives back a half-received message', () => {
  const pool = testPool();
  const framer = framerOf(pool);
  const request = make(Command.request, 1000);
  for (const cut of [10, 256, 257, 999]) {
    assert.equal(framer.push(request.subarray(0, cut), 0).outcome, 'need-more');
    assert.equal(pool.leaked(), cut < HEADER_SIZE ? 0 : 1);
    framer.destroy();
    assert.equal(pool.leaked(), 0);
  }
  assert.deepEqual(run(pool, framer, [request]), ['message request 1000']);
});

test('20,000 mutated streams: one clear outcome each, no crash, no leak', () => {
  const prng = new Prng(2024);
  const pool = testPool();
  const counts = new Map<string, number>();
  const sources = [...mixed.slice(0, 4), ...messageVectors.map(({ bytes }) => bytes)];
  for (let i = 0; i < 20_000; i++) {
    const bytes = prng.pick(sources).slice();
    const reseal = prng.chance(3, 4);
    for (let n = prng.between(1, 3); n > 0; n--) {
      // Fields of the header are more interesting than the body.
      const at = prng.chance(2, 3) ? prng.between(80, 127) : prng.below(bytes.length);
      bytes[at] = prng.chance(1, 2) ? prng.u32() : bytes[at] ^ (1 << prng.below(8));
    }
    if (reseal) checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, 0);
    const framer = framerOf(pool);
    const cut = prng.below(bytes.length);
    const lines = run(pool, framer, [bytes.subarray(0, cut), bytes.subarray(cut)]);
    const outcome = lines.at(-1)?.split(' ')[0] ?? 'need-more';
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    framer.destroy();
    assert.equal(pool.leaked(), 0);
  }
  for (const outcome of [
    'message',
    'need-more',
    'header-checksum',
    'unknown-command',
    'size',
    'body-checksum',
    'cluster',
  ]) {
    assert.ok((counts.get(outcome) ?? 0) > 50, `${outcome}: ${counts.get(outcome)}`);
  }
});
