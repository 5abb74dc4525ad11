/**
 * How long the engine keeps everybody waiting: one replica on a real file under full batches from
 * another process, each step of its engine timed, over several checkpoints.
 *
 *   node bench/steps.ts [--transfers=6_000_000] [--accounts=10_000] [--clients=1]
 *                       [--ids=random|sequential] [--directory=FOLDER]
 *
 * Prints throughput and batch times as the client sees them, and of the steps the longest, with
 * and without the operations executed in them: what is left is the engine's own work, checkpoints
 * for the most part. On a busy machine any step can be long, as the clock goes on while others run.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startLedger } from '../src/host/index.ts';
import { ID_ORDERS, type LoadOptions, runLoad } from '../src/lab/index.ts';
import { Replica } from '../src/vsr/replica.ts';
import { ReplicatedState } from '../src/vsr/state.ts';

interface Step {
  readonly event: string;
  readonly ms: number;
  /** Of these, executing operations. */
  readonly applyMs: number;
}

const number = (text: string): number => Number(text.replaceAll('_', ''));

const { values } = parseArgs({
  options: {
    transfers: { type: 'string', default: '6_000_000' },
    accounts: { type: 'string', default: '10_000' },
    clients: { type: 'string', default: '1' },
    ids: { type: 'string', default: 'random' },
    directory: { type: 'string', default: tmpdir() },
    /** Set for the process that makes the load. */
    address: { type: 'string' },
  },
});

if (values.address === undefined) await main();
else await load(values.address);

async function load(address: string): Promise<void> {
  const options: LoadOptions = {
    addresses: address,
    cluster: 0n,
    clients: number(values.clients),
    accountCount: number(values.accounts),
    transferCount: number(values.transfers),
    transferBatchSize: 8189,
    idOrder: ID_ORDERS.find((order) => order === values.ids) ?? 'random',
    seed: 42,
    connectTimeoutMs: 10_000,
  };
  const { transfersPerSecond, batchMs } = await runLoad(options);
  const { p50, p99, max } = batchMs;
  const batches = [p50, p99, max].map((ms) => ms.toFixed(1)).join(' / ');
  console.log(`${Math.round(transfersPerSecond)} transfers/s, batch p50 / p99 / max ${batches} ms`);
}

async function main(): Promise<void> {
  const steps = timeSteps();
  const folder = mkdtempSync(join(values.directory, 'roundelay-steps-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const checkpoints: string[] = [];
  const ledger = await startLedger({
    directory: folder,
    log: ({ event, fields }) => {
      if (event === 'checkpoint') checkpoints.push(JSON.stringify(fields));
    },
  });
  steps.length = 0;
  const parameters = [...process.argv.slice(2), `--address=127.0.0.1:${ledger.port}`];
  const client = spawn(process.execPath, [import.meta.filename, ...parameters], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await new Promise((done) => client.once('exit', done));
  print('longest steps', steps, ({ ms }) => ms);
  print('without execution', steps, ({ ms, applyMs }) => ms - applyMs);
  for (const checkpoint of checkpoints) console.log(`checkpoint ${checkpoint}`);
  await ledger.close();
}

/** From here on every step of an engine is noted. */
function timeSteps(): Step[] {
  const steps: Step[] = [];
  let applyMs = 0;
  const { apply } = ReplicatedState.prototype;
  ReplicatedState.prototype.apply = function (...parameters) {
    const start = performance.now();
    const result = apply.apply(this, parameters);
    applyMs += performance.now() - start;
    return result;
  };
  const { step } = Replica.prototype;
  Replica.prototype.step = function (event, now) {
    applyMs = 0;
    const start = performance.now();
    const effects = step.call(this, event, now);
    steps.push({ event: event.type, ms: performance.now() - start, applyMs });
    return effects;
  };
  return steps;
}

function print(title: string, steps: readonly Step[], msOf: (step: Step) => number): void {
  const sorted = steps.map((step) => ({ event: step.event, ms: msOf(step) }));
  sorted.sort((a, b) => b.ms - a.ms);
  const at = (share: number): string =>
    sorted[Math.floor(sorted.length * share)]?.ms.toFixed(2) ?? '';
  const longest = sorted.slice(0, 5).map(({ event, ms }) => `${event} ${ms.toFixed(2)}`);
  console.log(`${title}: ${longest.join(', ')} ms; p99.9 ${at(0.001)}, p99 ${at(0.01)} ms`);
}
