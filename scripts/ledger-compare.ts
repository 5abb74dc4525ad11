/**
 * Compares the ledger with the naive model over many random events:
 *
 *   node scripts/ledger-compare.ts --seed 1 --events 1_000_000 [--world-events 40_000]
 *     [--machine ledger|model] [--no-restarts]
 *
 * The events are spread over worlds, one per seed from `--seed` on. Prints how often each status
 * occurred, and `0 differences`; or the first difference with the command that shows it again, and
 * ends with code 1. Statuses that occurred fewer than 100 times are named.
 */
import { parseArgs } from 'node:util';
import type { Machine } from '../src/engine/index.ts';
import { Ledger } from '../src/ledger/index.ts';
import { ModelMachine } from '../src/sim/ledger-model/index.ts';
import { compareLedger, formatDifference, Histogram } from '../src/sim/ledger-workload/index.ts';
import { createChecksum } from '../src/wire/index.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    events: { type: 'string', default: '1_000_000' },
    'world-events': { type: 'string', default: '40_000' },
    machine: { type: 'string', default: 'ledger' },
    'no-restarts': { type: 'boolean', default: false },
  },
});

function integer(text: string): number {
  const value = Number(text.replaceAll('_', ''));
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not a number: ${text}`);
  return value;
}

const checksum = createChecksum();

function machineFactory(name: string): () => Machine {
  if (name === 'model') return () => new ModelMachine(checksum);
  if (name === 'ledger') return () => new Ledger({ checksum });
  throw new RangeError(`unknown machine: ${name}`);
}

const create = machineFactory(values.machine);
const seedFirst = integer(values.seed);
const eventsWanted = integer(values.events);
const worldEvents = integer(values['world-events']);
const histogram = new Histogram();
const started = performance.now();
let events = 0;
let operations = 0;

for (let seed = seedFirst; events < eventsWanted; seed++) {
  const limit = Math.min(worldEvents, eventsWanted - events);
  const restarts = !values['no-restarts'];
  const result = compareLedger({ create, checksum, seed, events: limit, restarts });
  histogram.add(result.histogram);
  events += result.events;
  operations += result.operations;
  if (result.difference !== null) {
    const stop = result.difference.eventIndex + 1;
    const options = [
      `--seed ${seed} --events ${stop} --world-events ${stop}`,
      values.machine === 'ledger' ? '' : ` --machine ${values.machine}`,
      restarts ? '' : ' --no-restarts',
    ];
    const command = `node scripts/ledger-compare.ts ${options.join('')}`;
    console.log(formatDifference(result.difference, command));
    process.exit(1);
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${events} events, seed ${seed} `);
}

const seconds = (performance.now() - started) / 1000;
console.log(histogram.format());
const rare = histogram.rarerThan(100);
if (rare.length > 0) console.log(`fewer than 100: ${rare.join(', ')}`);
console.log(`${events} events in ${operations} operations, ${seconds.toFixed(1)} s`);
console.log('0 differences');
