/**
 * Mutated messages on several connections against a running server, beside a healthy client: every
 * whole request must be answered, the healthy client must not notice anything, and the server's
 * memory must stay where it is.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isObject, type Json, memberOf } from '../../src/ovsdb/index.ts';
import { Mutants } from '../ovsdb-peer/mutants.ts';
import { WireSession } from '../ovsdb-peer/wire-session.ts';

export interface FuzzOptions {
  /** Path of the server's unix socket; its database D is that of the workload. */
  readonly socket: string;
  /** Whose memory is watched; `null`: nobody's. */
  readonly pid: number | null;
  readonly messages: number;
  readonly seed: number;
  readonly connections: number;
  readonly progress?: (sent: number, rssMb: number) => void;
}

export interface FuzzResult {
  readonly sent: number;
  readonly answered: number;
  readonly closed: number;
  readonly healthyAnswers: number;
  /** Largest answer time of the healthy client, ms. */
  readonly slowestMs: number;
  /** Resident memory after the first half and at the end, MB. */
  readonly rssMb: readonly [number, number];
}

/** Whole requests at once on a connection. */
const BURST = 20;

interface Counters {
  sent: number;
  answered: number;
  closed: number;
}

export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const counters: Counters = { sent: 0, answered: 0, closed: 0 };
  const healthy = await WireSession.open(options.socket);
  let isOver = false;
  const share = Math.ceil(options.messages / options.connections);
  const attackers = Array.from({ length: options.connections }, (_, i) =>
    attack(options, options.seed + i, share, counters),
  );
  const all = Promise.all(attackers).finally(() => {
    isOver = true;
  });
  let healthyAnswers = 0;
  let slowestMs = 0;
  let half = 0;
  while (!isOver) {
    const beganMs = performance.now();
    const reply = await healthy.request('transact', ['D', { op: 'select', table: 'R', where: [] }]);
    slowestMs = Math.max(slowestMs, performance.now() - beganMs);
    assert.ok(isObject(reply) && memberOf(reply, 'error') === null, 'a select is refused');
    healthyAnswers += 1;
    const rss = rssMb(options.pid);
    if (counters.sent < options.messages / 2) half = Math.max(half, rss);
    options.progress?.(counters.sent, rss);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await all;
  healthy.destroy();
  const { sent, answered, closed } = counters;
  return { sent, answered, closed, healthyAnswers, slowestMs, rssMb: [half, rssMb(options.pid)] };
}

/** One connection after another, its share of messages. */
async function attack(
  { socket }: FuzzOptions,
  seed: number,
  share: number,
  counters: Counters,
): Promise<void> {
  const mutants = new Mutants(seed);
  let sent = 0;
  while (sent < share) {
    const session = await WireSession.open(socket);
    while (!session.isClosed && sent < share) {
      const awaited = new Set<string>();
      let mayClose = false;
      for (let i = 0; i < BURST && sent < share && !mayClose; i++) {
        const { bytes, id } = mutants.next();
        session.write(bytes);
        sent += 1;
        if (id === null) mayClose = true;
        else awaited.add(id);
      }
      counters.sent += awaited.size + (mayClose ? 1 : 0);
      if (mayClose) await session.finish();
      else assert.equal(await session.sync(), null, 'closed over a whole request');
      for (const frame of session.take()) {
        if (awaited.delete(idOf(frame))) counters.answered += 1;
      }
      assert.deepEqual([...awaited], [], `seed ${seed}: requests without an answer`);
      if (mayClose) counters.closed += 1;
    }
    session.destroy();
  }
}

function idOf(frame: Json): string {
  return isObject(frame) && memberOf(frame, 'method') === undefined ? String(frame['id']) : '';
}

function rssMb(pid: number | null): number {
  if (pid === null) return 0;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
