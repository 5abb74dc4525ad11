/** The life of a connection against a table of what happens when; no clock, no sockets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reconnect } from './reconnect.ts';

test('waiting doubles up to the most, and starts anew after a good connection', () => {
  const link = new Reconnect({ probeIntervalMs: 5000, backoffMaxMs: 8000 }, 0);
  let now = 0;
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    assert.equal(link.run(now), 'connect');
    link.connecting(now);
    link.disconnected('Connection refused', now);
    waits.push((link.deadlineMs() ?? 0) - now);
    assert.equal(link.run(now + (waits.at(-1) ?? 0) - 1), null, 'not too early');
    now += waits.at(-1) ?? 0;
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 8000, 8000]);
  link.connecting(now);
  link.connected(now);
  link.activity(now + 9000);
  link.disconnected(null, now + 9000);
  assert.equal(link.backoffMs, 1000);
  assert.equal(link.status(now + 11_000).lastError, 'End of file');
  assert.equal(link.status(now + 11_000).secSinceConnect, 11);
  assert.equal(link.status(now + 11_000).secSinceDisconnect, 2);
});

test('a connection that breaks at once goes on waiting longer', () => {
  const link = new Reconnect({ probeIntervalMs: 0, backoffMaxMs: 8000 }, 0);
  link.connecting(0);
  link.disconnected('Connection refused', 0);
  link.connecting(1000);
  link.connected(1000);
  link.disconnected(null, 1001);
  assert.equal(link.backoffMs, 2000);
});

test('an attempt is given up after a second, or after the last wait if that was longer', () => {
  const link = new Reconnect({ probeIntervalMs: 5000 }, 0);
  link.connecting(0);
  assert.equal(link.run(999), null);
  assert.equal(link.run(1000), 'disconnect');
  link.disconnected('Connection timed out', 1000);
  link.connecting(2000);
  link.disconnected('Connection timed out', 3000);
  link.connecting(5000);
  assert.equal(link.deadlineMs(), 7000);
});

test('silence is asked about once, then it is over; any sign of life is enough', () => {
  const link = new Reconnect({ probeIntervalMs: 5000, isAccepted: true }, 0);
  assert.equal(link.run(4999), null);
  assert.equal(link.run(5000), 'probe');
  assert.equal(link.state, 'IDLE');
  link.activity(6000);
  assert.equal(link.state, 'ACTIVE');
  assert.equal(link.deadlineMs(), 11_000);
  assert.equal(link.run(11_000), 'probe');
  assert.equal(link.run(15_999), null);
  assert.equal(link.run(16_000), 'disconnect');
  link.disconnected('no response', 16_000);
  assert.equal(link.state, 'VOID');
  assert.equal(link.deadlineMs(), null);
});

test('probes may be off, and are never more often than each second', () => {
  assert.equal(new Reconnect({ probeIntervalMs: 0, isAccepted: true }, 0).deadlineMs(), null);
  assert.equal(new Reconnect({ probeIntervalMs: 5, isAccepted: true }, 0).deadlineMs(), 1000);
});
