/**
 * Tries out the machines of the examples over many seeds, on both engines and all cores. Prints the
 * first failure of each with the call that shows it again, and at the end what really happened.
 * Exit code 42 when something failed.
 *
 *     node scripts/simulate-machines.ts [--seeds 5000] [--first 0] [--machine counter]
 *         [--engine vsr|raft] [--requests 200] [--jobs 2]
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { ExitCode } from '../src/cli/exit-codes.ts';
import type { EngineName } from '../src/sim/index.ts';
import { type ExampleName, MACHINES, tryOut } from '../test/example-machines.ts';

/** What a worker does at a time. */
interface Task {
  readonly name: ExampleName;
  readonly engine: EngineName;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly requests: number;
}

interface Done {
  readonly task: Task;
  readonly runs: number;
  readonly failure: string | null;
  readonly coverage: { readonly [counter: string]: number };
}

const BATCH = 25;

if (isMainThread) process.exitCode = await main();
else parentPort?.on('message', (task: Task) => void work(task));

async function work(task: Task): Promise<void> {
  const { name, ...trial } = task;
  const report = await tryOut(name, trial);
  const { runs, coverage } = report;
  const done: Done = { task, runs, failure: report.ok ? null : report.text, coverage };
  parentPort?.postMessage(done);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '5000' },
      first: { type: 'string', default: '0' },
      machine: { type: 'string' },
      engine: { type: 'string' },
      requests: { type: 'string', default: '200' },
      jobs: { type: 'string', default: String(availableParallelism()) },
    },
  });
  const machines = MACHINES.filter(
    (name) => values.machine === undefined || name === values.machine,
  );
  const engines = (['vsr', 'raft'] as const).filter((name) => name === (values.engine ?? name));
  const [seeds, first] = [Number(values.seeds), Number(values.first)];
  const requests = Number(values.requests);
  if (machines.length * engines.length === 0 || !(seeds > 0) || !(requests > 0)) {
    console.error(`machines are ${MACHINES.join(', ')}, engines vsr and raft`);
    return ExitCode.usage;
  }
  const tasks: Task[] = [];
  for (let at = first; at < first + seeds; at += BATCH) {
    const batch = Math.min(BATCH, first + seeds - at);
    for (const name of machines) {
      for (const engine of engines) {
        tasks.push({ name, engine, firstSeed: at, seeds: batch, requests });
      }
    }
  }
  return summary(await runAll(tasks, Number(values.jobs)));
}

async function runAll(tasks: Task[], jobs: number): Promise<readonly Done[]> {
  const all: Done[] = [];
  const count = tasks.length;
  const failed = new Set<string>();
  const lanes = Array.from({ length: Math.max(1, jobs) }, async () => {
    const worker = new Worker(new URL(import.meta.url), { workerData });
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
      const done = await ask(worker, task);
      all.push(done);
      const which = `${task.name} on ${task.engine}`;
      // One failure of each tells enough.
      if (done.failure !== null && !failed.has(which)) console.log(`${which}: ${done.failure}`);
      if (done.failure !== null) failed.add(which);
      if (process.stderr.isTTY) process.stderr.write(`\r${all.length} of ${count} batches`);
    }
    await worker.terminate();
  });
  await Promise.all(lanes);
  return all;
}

function ask(worker: Worker, task: Task): Promise<Done> {
  return new Promise((resolve, reject) => {
    worker.once('message', (done: Done) => {
      worker.off('error', reject);
      resolve(done);
    });
    worker.once('error', reject);
    worker.postMessage(task);
  });
}

function summary(all: readonly Done[]): number {
  const rows = new Map<string, { runs: number; failures: number; coverage: Map<string, number> }>();
  for (const { task, runs, failure, coverage } of all) {
    const which = `${task.name} on ${task.engine}`;
    const row = rows.get(which) ?? { runs: 0, failures: 0, coverage: new Map() };
    row.runs += runs;
    row.failures += failure === null ? 0 : 1;
    for (const [name, value] of Object.entries(coverage)) {
      row.coverage.set(name, (row.coverage.get(name) ?? 0) + value);
    }
    rows.set(which, row);
  }
  for (const [which, { runs, failures, coverage }] of rows) {
    const verdict = failures === 0 ? 'green' : `${failures} failures`;
    console.log(`${which}: ${runs} runs, ${verdict}`);
    console.log(`  ${[...coverage].map(([name, value]) => `${name} ${value}`).join(' · ')}`);
  }
  const isGreen = [...rows.values()].every(({ failures }) => failures === 0);
  return isGreen ? ExitCode.ok : ExitCode.simulationFailed;
}
