/** Checkpoints are made while operations go on: no saw-tooth in how long they take. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKPOINT_SLACK_OPS, PIPELINE_MAX } from '../../engine/index.ts';
import type { Parts } from '../../vsr/index.ts';
import { ledgerSubject } from '../subjects/subjects.ts';
import { Lesson } from './lesson-test-helper.ts';

const GEOMETRY = { slots: 64, slotSize: 8192, requestSizeMax: 8192 };
const INTERVAL: number = GEOMETRY.slots - CHECKPOINT_SLACK_OPS - 2 * PIPELINE_MAX;
const CLIENTS = 16;
const REQUESTS = 12;

interface Commit {
  readonly op: number;
  /** Virtual time. */
  readonly ns: number;
  /** A checkpoint was being made. */
  readonly isBusy: boolean;
}

/** What one replica executed, and when; `delay`: what else there is to know of it. */
function commitsOf(): { commits: Map<number, Commit[]>; onParts: (parts: Parts) => void } {
  const commits = new Map<number, Commit[]>();
  const onParts = ({ state, member, outbox, checkpoints }: Parts): void => {
    const own: Commit[] = [];
    commits.set(member.replica, own);
    const apply = state.apply.bind(state);
    state.apply = (prepare, reply) => {
      const { isBusy } = checkpoints;
      own.push({ op: state.commitMin + 1, ns: outbox.now.monoNs, isBusy });
      return apply(prepare, reply);
    };
  };
  return { commits, onParts };
}

/** From each operation to the next, milliseconds. */
function gaps(commits: readonly Commit[], isBusy: boolean): number[] {
  const found: number[] = [];
  commits.forEach((commit, i) => {
    const before = commits[i - 1];
    if (before !== undefined && commit.isBusy === isBusy) found.push((commit.ns - before.ns) / 1e6);
  });
  return found.toSorted((a, b) => a - b);
}

test('five replicas, sixteen clients: operations take no longer while a checkpoint is made', () => {
  const { commits, onParts } = commitsOf();
  const cluster = { replicaCount: 5, clients: CLIENTS, geometry: GEOMETRY } as const;
  const t = new Lesson({ ...cluster, subject: ledgerSubject, onParts });
  t.begin(CLIENTS);
  for (let client = 0; client < CLIENTS; client++) t.request(REQUESTS, client);
  const { primary } = t;
  commits.get(primary)?.splice(0);
  t.until(() => t.isAnswered, 30_000);
  const own = commits.get(primary) ?? [];
  const [busy, idle] = [gaps(own, true), gaps(own, false)];
  assert.ok(t.count('checkpoints') >= 5 * Math.floor((CLIENTS * REQUESTS) / INTERVAL));
  assert.ok(busy.length > 20 && idle.length > 60, `${busy.length} and ${idle.length} operations`);
  const mean = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0) / all.length;
  const text = `busy ${mean(busy)} ms, max ${busy.at(-1)}; idle ${mean(idle)} ms, max ${idle.at(-1)}`;
  assert.ok(mean(busy) <= 2 * mean(idle), text);
  assert.ok((busy.at(-1) ?? 0) <= 20, text);
  t.end();
});
