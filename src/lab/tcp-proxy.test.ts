/** The proxy between an echo server and a client: order, one-sided delay, and the end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { TcpProxy } from './tcp-proxy.ts';

async function withEcho(
  delays: { readonly to: number; readonly from: number },
  body: (socket: Socket, arrivals: number[]) => Promise<void>,
): Promise<void> {
  const arrivals: number[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      arrivals.push(performance.now());
      socket.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const targetPort = address !== null && typeof address === 'object' ? address.port : 0;
  const { to: delayToTargetMs, from: delayFromTargetMs } = delays;
  const proxy = await TcpProxy.start({ targetPort, delayToTargetMs, delayFromTargetMs });
  const socket = connect({ port: proxy.port, host: '127.0.0.1' });
  socket.on('error', () => {});
  try {
    await once(socket, 'connect');
    await body(socket, arrivals);
  } finally {
    socket.destroy();
    proxy.close();
    server.close();
  }
}

test('one direction is delayed, the other is not, and bytes keep their order', async () => {
  for (const [to, from] of [
    [80, 0],
    [0, 80],
  ] as const) {
    await withEcho({ to, from }, async (socket, arrivals) => {
      const startMs = performance.now();
      let text = '';
      const all = new Promise<void>((done) => {
        socket.on('data', (bytes: Buffer) => {
          text += bytes.toString('latin1');
          if (text.length === 600_006) done();
        });
      });
      socket.write('begin');
      socket.write(`${'x'.repeat(300_000)}${'y'.repeat(300_000)}e`);
      await all;
      const thereMs = arrivals[0] - startMs;
      assert.ok(to === 0 ? thereMs < 60 : thereMs >= 78, `${thereMs} ms there with ${to}`);
      assert.ok(performance.now() - startMs >= 78);
      assert.equal(text, `begin${'x'.repeat(300_000)}${'y'.repeat(300_000)}e`);
    });
  }
});

test('nothing is held back without a delay, and a cut is passed on', async () => {
  await withEcho({ to: 0, from: 0 }, async (socket) => {
    const startMs = performance.now();
    for (let i = 0; i < 20; i++) {
      socket.write('x');
      await once(socket, 'data');
    }
    assert.ok(performance.now() - startMs < 1000);
  });
  const proxy = await TcpProxy.start({ targetPort: 1, delayToTargetMs: 0, delayFromTargetMs: 0 });
  const socket = connect({ port: proxy.port, host: '127.0.0.1' });
  socket.on('error', () => {});
  await once(socket, 'close');
  proxy.close();
});
