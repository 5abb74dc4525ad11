/** TLS streams with real certificates: who is let in, whose files change, bootstrapping. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connectStream } from './connect.ts';
import type { Connected } from './connected.ts';
import { listenStream, type StreamListener } from './listen.ts';
import { parseTarget } from './target.ts';
import { noTlsFiles, TlsContext, type TlsFiles } from './tls-context.ts';
import { makeCa, makeIdentity } from './tls-test-helper.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'streams-tls-'));
after(() => fs.rmSync(folder, { recursive: true, force: true }));
makeCa(folder, 'ca');
makeCa(folder, 'other');
const server = makeIdentity(folder, 'ca', 'server');
const alice = makeIdentity(folder, 'ca', 'alice');
const mallory = { ...makeIdentity(folder, 'other', 'mallory'), caCert: join(folder, 'ca.pem') };

interface Listening {
  readonly listener: StreamListener;
  readonly accepted: Connected[];
}

async function listen(files: TlsContext, nowMs?: () => number): Promise<Listening> {
  const accepted: Connected[] = [];
  const listener = await listenStream(parseTarget('pssl:0:127.0.0.1') as never, {
    tls: files,
    accept: (connected) => {
      connected.socket.on('error', () => {});
      connected.socket.on('data', (chunk) => connected.socket.write(chunk));
      accepted.push(connected);
    },
    ...(nowMs === undefined ? {} : { nowMs }),
  });
  return { listener, accepted };
}

/** What came back of a byte, or why nothing did. */
function call(port: number | null, tls: TlsContext): Promise<string> {
  return new Promise((resolve) => {
    connectStream(parseTarget(`ssl:127.0.0.1:${port}`) as never, { tls }, (result) => {
      if (typeof result === 'string') {
        resolve(`refused: ${result}`);
        return;
      }
      const { socket } = result;
      socket.once('data', (chunk) => {
        socket.destroy();
        resolve(String(chunk));
      });
      socket.once('error', () => {});
      // Half-open: that the other side has left is not yet the end.
      socket.once('end', () => socket.end());
      socket.once('close', () => resolve('refused'));
      socket.write('x');
    });
  });
}

const context = (files: TlsFiles, more: Partial<TlsFiles> = {}): TlsContext =>
  new TlsContext({ ...files, ...more });

test('both sides prove who they are, and the name is told', async (t) => {
  const { listener, accepted } = await listen(context(server));
  t.after(() => listener.close());
  assert.equal(await call(listener.boundPort, context(alice)), 'x');
  assert.equal(accepted[0]?.tlsIdentity, 'alice');
  assert.match(accepted[0]?.name ?? '', /^ssl:127\.0\.0\.1:\d+$/);
  assert.match(await call(listener.boundPort, context(mallory)), /^refused/);
  assert.equal(accepted.length, 1, 'nobody else got in');
  const wrong = context(alice, { caCert: join(folder, 'other.pem') });
  assert.match(await call(listener.boundPort, wrong), /^refused/);
});

test('plain bytes and old protocols do not get in, and disturb nobody', async (t) => {
  const { listener, accepted } = await listen(context(server, { protocols: 'TLSv1.3' }));
  t.after(() => listener.close());
  const net = await import('node:net');
  const plain = net.connect(listener.boundPort ?? 0, '127.0.0.1');
  plain.on('error', () => {});
  plain.write('{"id":1,"method":"echo","params":[]}');
  await new Promise((resolve) => plain.once('close', resolve));
  const old = context(alice, { protocols: 'TLSv1.2' });
  assert.match(await call(listener.boundPort, old), /^refused/);
  assert.equal(await call(listener.boundPort, context(alice)), 'x');
  assert.equal(accepted.length, 1);
});

test('files that change are read again', async (t) => {
  let now = 0;
  const renewed = join(folder, 'renewed');
  fs.mkdirSync(renewed);
  const copy = (from: string | null, name: string): string => {
    fs.copyFileSync(from ?? '', join(renewed, name));
    return join(renewed, name);
  };
  const files = { ...server, caCert: copy(server.caCert, 'ca.pem') };
  const { listener } = await listen(context(files), () => now);
  t.after(() => listener.close());
  const stranger = context(mallory);
  assert.match(await call(listener.boundPort, stranger), /^refused/);
  copy(join(folder, 'other.pem'), 'ca.pem');
  now += 2_000;
  assert.equal(await call(listener.boundPort, stranger), 'x');
});

test('the CA is taken from the first server when there is none yet', async (t) => {
  const { listener } = await listen(context(server, { peerCaCert: join(folder, 'ca.pem') }));
  t.after(() => listener.close());
  const caCert = join(folder, 'taken.pem');
  const tls = context(alice, { caCert, bootstrapCaCert: true });
  assert.match(await call(listener.boundPort, tls), /Protocol error/);
  assert.equal(fs.statSync(caCert).mode & 0o222, 0, 'nobody writes to it again');
  assert.equal(await call(listener.boundPort, tls), 'x');
});

test('what is missing is told in the words that people know', async () => {
  for (const [files, words] of [
    [noTlsFiles, 'Private key must be configured to use SSL'],
    [{ ...server, certificate: null }, 'Certificate must be configured to use SSL'],
    [{ ...server, caCert: null }, 'CA certificate must be configured to use SSL'],
    [{ ...server, protocols: 'TLSv9' }, 'TLSv9: SSL/TLS protocol not recognized'],
  ] as const) {
    assert.throws(() => new TlsContext(files).secure(0), { message: words });
  }
});
