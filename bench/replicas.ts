/**
 * Writes to a key-value store of a few lines, replicated by each engine: three real processes on
 * real disks of this machine, and the clients beside them. Reports writes per second and latencies
 * at several numbers of writes in flight, and how much later a client is answered that knows a
 * follower only. Beside them etcd, if there is one on the PATH: the same keys, values and numbers
 * in flight, through as many connections, to its leader.
 *
 *   node bench/replicas.ts [--engines=vsr,raft,etcd] [--in-flight=1,64,1024] [--seconds=5]
 *     [--clients=4] [--runs=1] [--directory=FOLDER] [--json]
 *
 * `--clients`: connections over which what is in flight is spread; never more than that. Runs
 * alternate between the engines.
 */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { connectReplica } from '../src/client/index.ts';
import {
  calibrate,
  calibrationLine,
  median,
  type Percentiles,
  percentiles,
} from '../src/lab/index.ts';
import { store } from '../test/e2e/replica-machines.ts';
import { type EngineName, ReplicaProcesses } from '../test/e2e/replica-processes.ts';
import { Etcd, EtcdClient, etcdVersion } from './etcd.ts';

type Contestant = EngineName | 'etcd';

/** What a number of writes in flight comes to. */
interface Figure {
  readonly who: Contestant;
  readonly inFlight: number;
  readonly writesPerSecond: number;
  readonly ms: Percentiles;
}

/** Medians at one write in flight, ms, of clients that know one address. */
interface Follower {
  readonly who: EngineName;
  readonly leaderMs: number;
  readonly followerMs: number;
}

/** Something that writes one value and comes back when it is safe. */
interface Writer {
  write(key: string, value: string): Promise<unknown>;
  close(): void;
}

const WARM_UP_MS = 1_000;
const KEYS = 1_000;
const VALUE = 'v'.repeat(100);
const FOLLOWER_SECONDS = 3;

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: 'vsr,raft,etcd' },
    'in-flight': { type: 'string', default: '1,64,1024' },
    seconds: { type: 'string', default: '5' },
    clients: { type: 'string', default: '4' },
    runs: { type: 'string', default: '1' },
    directory: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const clientsMax = Number(values.clients);
const numbersInFlight = values['in-flight'].split(',').map(Number);
const etcd = etcdVersion();
const known: readonly Contestant[] = ['vsr', 'raft', 'etcd'];
const contestants = known.filter(
  (who) => values.engines.split(',').includes(who) && (who !== 'etcd' || etcd !== null),
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

await main();

async function main(): Promise<void> {
  const calibration = await calibrate(values.directory);
  const figures: Figure[] = [];
  const followers: Follower[] = [];
  for (let run = 0; run < Number(values.runs); run++) {
    for (const who of contestants) {
      if (who === 'etcd') figures.push(...(await measureEtcd()));
      else await measureEngine(who, figures, followers);
    }
  }
  if (values.json) {
    console.log(JSON.stringify({ seconds, clientsMax, etcd, calibration, figures, followers }));
    return;
  }
  for (const line of report(figures, followers)) console.log(line);
  console.log(etcd === null ? 'etcd is not installed' : `etcd ${etcd}`);
  console.log(calibrationLine(calibration));
}

async function measureEngine(
  engine: EngineName,
  figures: Figure[],
  followers: Follower[],
): Promise<void> {
  const { directory } = values;
  const cluster = await ReplicaProcesses.start({ engine, machine: store.name, directory });
  try {
    for (const inFlight of numbersInFlight) {
      figures.push(await measure(engine, inFlight, () => replicaWriter(cluster.addresses)));
    }
    const leader = await cluster.ready();
    const addresses = cluster.addresses.split(',');
    const one = async (replica: number): Promise<number> => {
      const writer = (): Promise<Writer> => replicaWriter(addresses[replica] ?? '');
      return (await measure(engine, 1, writer, FOLLOWER_SECONDS)).ms.p50;
    };
    const leaderMs = await one(leader);
    const followerMs = await one((leader + 1) % addresses.length);
    followers.push({ who: engine, leaderMs, followerMs });
  } finally {
    await cluster.stop();
  }
}

async function measureEtcd(): Promise<Figure[]> {
  const cluster = await Etcd.start(values.directory);
  try {
    const figures: Figure[] = [];
    for (const inFlight of numbersInFlight) {
      const port = await cluster.leader();
      figures.push(await measure('etcd', inFlight, () => Promise.resolve(etcdWriter(port))));
    }
    return figures;
  } finally {
    await cluster.stop();
  }
}

async function replicaWriter(addresses: string): Promise<Writer> {
  const client = await connectReplica({ addresses, machine: store, connectTimeoutMs: 20_000 });
  return {
    write: (key, value) => client.submit({ f: 'put', key, value }),
    close: () => client.close(),
  };
}

function etcdWriter(port: number): Writer {
  const client = new EtcdClient(port);
  return { write: (key, value) => client.put(key, value), close: () => client.close() };
}

/** Loops, one for each write in flight, over a few connections. */
async function measure(
  who: Contestant,
  inFlight: number,
  connect: () => Promise<Writer>,
  forSeconds: number = seconds,
): Promise<Figure> {
  const count = Math.min(inFlight, clientsMax);
  const writers = await Promise.all(Array.from({ length: count }, connect));
  const fromMs = performance.now() + WARM_UP_MS;
  const toMs = fromMs + forSeconds * 1000;
  const samples: number[] = [];
  let next = 0;
  const loop = async (writer: Writer): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < toMs; ) {
      next += 1;
      await writer.write(`key${next % KEYS}`, VALUE);
      const endMs = performance.now();
      if (endMs >= fromMs && endMs < toMs) samples.push(endMs - nowMs);
      nowMs = endMs;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, n) => loop(writers[n % count]!)));
  for (const writer of writers) writer.close();
  return { who, inFlight, writesPerSecond: samples.length / forSeconds, ms: percentiles(samples) };
}

function report(figures: readonly Figure[], followers: readonly Follower[]): string[] {
  const lines: string[] = [];
  for (const who of contestants) {
    for (const inFlight of numbersInFlight) {
      const runs = figures.filter((one) => one.who === who && one.inFlight === inFlight);
      const middle = (pick: (figure: Figure) => number): number => median(runs.map(pick));
      const rate = middle((one) => one.writesPerSecond).toFixed(0);
      const p50 = middle(({ ms }) => ms.p50).toFixed(2);
      const p99 = middle(({ ms }) => ms.p99).toFixed(2);
      lines.push(`${who}, ${inFlight} in flight: ${rate} writes/s, p50 ${p50} ms, p99 ${p99} ms`);
    }
    const asked = followers.filter((one) => one.who === who);
    if (asked.length === 0) continue;
    const ratio = median(asked.map(({ leaderMs, followerMs }) => followerMs / leaderMs));
    const { leaderMs, followerMs } = asked[0]!;
    const each = `${followerMs.toFixed(2)} / ${leaderMs.toFixed(2)} ms`;
    lines.push(`${who}: follower ÷ leader latency ${ratio.toFixed(2)} (${each})`);
  }
  return lines;
}
