/** One replica comes back while the others are under load: it gains on them quickly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PIPELINE_MAX } from '../../engine/index.ts';
import type { Geometry, Parts } from '../../vsr/index.ts';
import { History } from '../../vsr/log/history.ts';
import { Lesson } from './lesson-test-helper.ts';

const CLIENTS = 4;
/** A checkpoint every 96 operations; others remember all that is missed. */
const GEOMETRY: Geometry = { slots: 128, slotSize: 8192, requestSizeMax: 8192 };
const HISTORY_BYTES = 8_388_608;
/** More than there is time for. */
const REQUESTS = 100_000;

/** How quickly a backup of three comes back that was away for `awayMs`. */
function returning(awayMs: number): { missed: number; ms: number; meanwhile: number } {
  const onParts = (parts: Parts): void => {
    Object.assign(parts, { history: new History(HISTORY_BYTES) });
  };
  const t = new Lesson({ replicaCount: 3, geometry: GEOMETRY, clients: CLIENTS, onParts });
  t.begin(CLIENTS);
  const { primary } = t;
  const [backup] = t.others(primary) as [number];
  t.stop(backup);
  const before = t.progress(primary).commitMin;
  for (let client = 0; client < CLIENTS; client++) t.request(REQUESTS, client);
  t.wait(awayMs);
  const missed = t.progress(primary).commitMin - before;
  t.open(backup);
  const isReady = (): boolean => t.parts[backup]?.member.isNormalBackup === true;
  t.until(isReady);
  const syncs = t.count('syncs');
  let ms = 0;
  const lag = (): number => t.progress(primary).commitMin - t.progress(backup).commitMin;
  for (; lag() > PIPELINE_MAX && ms < 20_000; ms += 5) t.wait(5);
  assert.equal(t.count('syncs'), syncs, 'it copied a checkpoint');
  return { missed, ms, meanwhile: t.progress(primary).commitMin - before - missed };
}

test('a replica that comes back under load gains on the others', () => {
  const { missed, ms, meanwhile } = returning(600);
  const text = `${missed} missed, ${meanwhile} more in ${ms} ms`;
  assert.ok(missed > 400, text);
  // It is five times as quick as the others at least.
  assert.ok(meanwhile < missed / 4, text);
});

test('what belongs to older views is not asked for again and again, but by name', () => {
  const t = new Lesson({ replicaCount: 5, geometry: GEOMETRY });
  t.begin();
  const [backup] = t.others(t.primary).slice(-1) as [number];
  t.stop(backup);
  for (let view = 0; view < 3; view++) {
    t.request(8);
    t.until(() => t.isAnswered);
    const { primary } = t;
    t.stop(primary);
    t.until(() => t.primary >= 0 && t.primary !== primary);
    t.open(primary);
    t.until(() => t.parts[primary]?.member.isNormalBackup === true);
  }
  // For a while it cannot know how those operations are called.
  const end = t.drop({ to: backup, command: 'headers' });
  t.open(backup);
  t.until(() => t.parts[backup]?.member.isNormalBackup === true);
  const { outbox } = t.parts[backup] as Parts;
  const trace = outbox.trace.bind(outbox);
  let asked = 0;
  outbox.trace = (level, event, fields) => {
    if (event === 'repair-asked') asked++;
    trace(level, event, fields);
  };
  t.wait(200);
  end();
  t.request(1);
  t.until(() => t.isAnswered);
  t.end();
  assert.ok(asked < 75, `asked ${asked} times`);
});
