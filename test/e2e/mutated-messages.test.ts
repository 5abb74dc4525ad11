/**
 * 200,000 messages that are wrong in every way a seed can think of, against a real server process:
 * it must live, count what it refused, and go on serving a healthy client as if nothing were going
 * on.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { connectLedger } from '../../src/client/index.ts';
import { fromHex, Prng, readU32, writeU32 } from '../../src/stdx/index.ts';
import {
  createChecksum,
  HEADER_SIZE,
  Offset,
  RequestOffset,
  sealBody,
} from '../../src/wire/index.ts';

const MESSAGES = 200_000;
const SEED = 20_261_130;
const CONNECTIONS = 8;
const BURST = 40;

const root = resolve(import.meta.dirname, '../..');
const checksum = createChecksum();
const prng = new Prng(SEED);

let folder = '';
let server: ChildProcess | null = null;
let port = 0;

/** What official clients really send: the raw material. */
const originals: readonly Uint8Array[] = (() => {
  const path = join(root, 'test/fixtures/ledger-wire-vectors.json');
  const vectors = JSON.parse(readFileSync(path, 'utf8'));
  const found: Uint8Array[] = [];
  for (const step of vectors.steps) {
    for (const message of step.messages) {
      if (message.direction === 'client->server') found.push(fromHex(message.hex));
    }
  }
  return found;
})();

function reseal(bytes: Uint8Array): void {
  if (readU32(bytes, Offset.size) === bytes.length) sealBody(bytes, checksum);
  checksum.digest(bytes, 16, HEADER_SIZE - 16, bytes, Offset.checksum);
}

/** Header fields of the command at hand, but not size, command or cluster: refused deep inside. */
function mutateFields(bytes: Uint8Array): void {
  for (let n = prng.between(1, 4); n > 0; n--) {
    const at = prng.pick([104, 108, 112, 115, 128, 160, 176, 184, 192, 196, 200, 204, 220, 255]);
    bytes[at + prng.below(at === 255 ? 1 : 2)] = prng.u32();
  }
  reseal(bytes);
}

function mutateBody(bytes: Uint8Array): Uint8Array {
  const size = prng.chance(1, 2) ? bytes.length : HEADER_SIZE + prng.below(1024);
  const changed = new Uint8Array(size);
  changed.set(bytes.subarray(0, Math.min(size, bytes.length)));
  for (let n = prng.below(32); n > 0 && size > HEADER_SIZE; n--) {
    changed[HEADER_SIZE + prng.below(size - HEADER_SIZE)] = prng.u32();
  }
  changed[RequestOffset.operation] = prng.chance(1, 2) ? prng.between(126, 150) : prng.below(256);
  writeU32(changed, Offset.size, size);
  reseal(changed);
  return changed;
}

/** One message, and whether the server has a right to close the connection over it. */
function mutant(): { bytes: Uint8Array; closes: boolean } {
  const bytes = prng.pick(originals).slice();
  const kind = prng.below(1000);
  if (kind < 700) {
    mutateFields(bytes);
    return { bytes, closes: false };
  }
  if (kind < 940) return { bytes: mutateBody(bytes), closes: false };
  if (kind < 955) {
    writeU32(bytes, Offset.size, prng.chance(1, 2) ? prng.below(256) : prng.u32());
    reseal(bytes);
  } else if (kind < 975) {
    bytes[Offset.command] = prng.u32();
    reseal(bytes);
  } else if (kind < 990) {
    bytes[prng.below(bytes.length)] ^= 1 << prng.below(8);
  } else {
    bytes[Offset.cluster + prng.below(16)] ^= 1 + prng.below(255);
    reseal(bytes);
  }
  return { bytes, closes: true };
}

/** Connects from changing loopback addresses, so that closed ports do not run out. */
function connect(): Promise<net.Socket> {
  const socket = net.connect({
    port,
    host: '127.0.0.1',
    localAddress: `127.0.0.${prng.between(2, 60)}`,
  });
  return new Promise((done, failed) => {
    socket.once('connect', () => done(socket)).once('error', failed);
    socket.resume();
  });
}

/** Sends its share of mutants; after one that may close, half-closes and waits for the end. */
async function attack(count: number): Promise<number> {
  let sent = 0;
  while (sent < count) {
    const socket = await connect();
    socket.on('error', () => {});
    const ended = new Promise<void>((done) => socket.once('close', () => done()));
    let open = true;
    void ended.then(() => {
      open = false;
    });
    let closing = false;
    while (open && !closing && sent < count) {
      const burst: Uint8Array[] = [];
      for (let i = 0; i < BURST && !closing && sent < count; i++) {
        const { bytes, closes } = mutant();
        burst.push(bytes);
        closing = closes;
        sent += 1;
      }
      await new Promise<void>((done) => {
        socket.write(Buffer.concat(burst), () => done());
        socket.once('close', () => done());
      });
    }
    socket.end();
    await ended;
  }
  return sent;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'roundelay-mutants-'));
  const bin = join(root, 'bin/roundelay.js');
  const file = join(folder, '0_0.roundelay');
  const format = spawn(process.execPath, [
    bin,
    'format',
    '--cluster=0',
    '--replica=0',
    '--replica-count=1',
    '--development',
    file,
  ]);
  assert.equal(await new Promise((done) => format.once('exit', done)), 0);
  server = spawn(process.execPath, [bin, 'start', '--addresses=0', file], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  port = await new Promise((done) => server?.stdout?.once('data', (text) => done(Number(text))));
  assert.ok(port > 0, 'no port');
});

after(() => {
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test(`${MESSAGES} mutated messages (seed ${SEED}): no crash, no harm`, {
  timeout: 300_000,
}, async () => {
  const healthy = await connectLedger({ addresses: [`127.0.0.1:${port}`], cluster: 0n });
  const attackers = Array.from({ length: CONNECTIONS }, () => attack(MESSAGES / CONNECTIONS));
  let finished = false;
  const all = Promise.all(attackers).finally(() => {
    finished = true;
  });
  let answers = 0;
  while (!finished) {
    assert.deepEqual(await healthy.lookupAccounts([1n << 100n]), []);
    answers += 1;
    await new Promise((done) => setTimeout(done, 20));
  }
  const counts = await all;
  assert.equal(
    counts.reduce((a, b) => a + b, 0),
    MESSAGES,
  );
  assert.ok(answers > 10, `the healthy client got ${answers} answers`);
  assert.equal(server?.exitCode, null, 'the server has ended');
  assert.equal(server?.signalCode, null, 'the server was killed');
  await healthy.close();
});
