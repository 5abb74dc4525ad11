/**
 * How long a database of 50 MB keeps its clients waiting while its file is written anew, how long
 * it takes to open, and what it takes in memory. `node bench/ovsdb-compaction.ts [rows] [runs]`
 *
 * Pause: the longest time between two turns of the event loop, sampled every millisecond. Append:
 * the longest time from a transaction to the news that it is in the file, one after another.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOvsdbFile } from '../src/host/ovsdb/storage/index.ts';
import { schemaOf, TestServer } from '../src/host/ovsdb/storage/storage-test-helper.ts';

const rows = Number(process.argv[2] ?? 63_200);
const runs = Number(process.argv[3] ?? 3);
/** Of a process that this one starts: what to do, and with which file. */
const [task, taskPath = ''] = process.argv.slice(4);
const TEXT_LENGTH = 700;

const schema = schemaOf({
  name: 'D',
  version: '1.0.0',
  tables: {
    T: {
      isRoot: true,
      columns: {
        n: { type: 'integer' },
        s: { type: 'string' },
        map: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
      indexes: [['n']],
    },
  },
});

const rowOf = (n: number) => ({
  n,
  s: `row ${n} `.padEnd(TEXT_LENGTH, 'x'),
  map: ['map', [['key', `value ${n}`]]],
});

/** The longest time that the event loop did not turn, ms, until `stop` is called. */
function watchPauses(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

async function fill(path: string): Promise<void> {
  await createOvsdbFile(path, schema);
  const server = await TestServer.open(path);
  for (let n = 0; n < rows; n++) {
    const done = server.transact({ op: 'insert', table: 'T', row: rowOf(n) });
    if (n % 500 === 0) await done;
  }
  await server.storage.close();
}

async function measure(path: string): Promise<void> {
  const startMs = performance.now();
  const server = await TestServer.open(path);
  const openMs = performance.now() - startMs;
  const rss = Math.round(process.memoryUsage.rss() / 1e6);
  const size = Math.round(server.storage.sizeBytes / 1e6);
  let compacting = true;
  const beganMs = performance.now();
  const pause = watchPauses();
  const compacted = server.storage.compact().finally(() => {
    compacting = false;
  });
  let appends = 0;
  let appendMs = 0;
  while (compacting) {
    const oneMs = performance.now();
    const where = [['n', '==', appends % rows]];
    await server.transact({
      op: 'update',
      table: 'T',
      where,
      row: { s: `${process.pid}-${appends}` },
    });
    appendMs = Math.max(appendMs, performance.now() - oneMs);
    appends += 1;
  }
  await compacted;
  const compactMs = Math.round(performance.now() - beganMs);
  const pauseMs = pause().toFixed(1);
  console.log(
    `${size} MB, ${rows} rows: open ${Math.round(openMs)} ms, RSS ${rss} MB; compaction ` +
      `${compactMs} ms, longest pause ${pauseMs} ms, longest append ${appendMs.toFixed(1)} ms ` +
      `of ${appends}`,
  );
  await server.storage.close();
}

/** Each part in a process of its own, so that none finds the memory that another has left. */
function run(name: string, path: string): void {
  const args = [import.meta.filename, String(rows), String(runs), name, path];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
}

if (task === 'fill') await fill(taskPath);
else if (task === 'measure') await measure(taskPath);
else {
  const folder = fs.mkdtempSync(join(tmpdir(), 'ovsdb-compaction-'));
  try {
    const path = join(folder, 'db');
    run('fill', path);
    for (let i = 0; i < runs; i++) run('measure', path);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}
