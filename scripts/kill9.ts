/**
 * kill -9 in the middle of a load, again and again: a real server process, clients that write down
 * what they sent and what was acknowledged, SIGKILL at a random moment (sometimes while the server
 * is still starting), start, compare. Requests without an answer are either sent again by their
 * session, which the cluster must recognise, or settled by a lookup. In the end the logical content
 * of the data file must be that of a naive model which executes the same history.
 *
 *   node scripts/kill9.ts [--rounds=30] [--wraps=3] [--clients=4] [--seed=1] [--development]
 *     [--directory=FOLDER] [--json]
 *
 * Goes on beyond --rounds until the log has been wrapped --wraps times.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startLedger } from '../src/host/index.ts';
import { median, ownLauncher, startAndMeasure } from '../src/lab/index.ts';
import { assert, Prng } from '../src/stdx/index.ts';
import { GEOMETRY_DEFAULT, GEOMETRY_DEVELOPMENT } from '../src/vsr/index.ts';
import { createChecksum } from '../src/wire/index.ts';
import { acknowledgedTransfers, checkAcknowledged, replay, settle } from './kill9-history.ts';
import { createAccounts, type Sent, TortureClient } from './kill9-load.ts';

interface Round {
  readonly round: number;
  readonly startMs: number;
  readonly killedAfterMs: number;
  readonly acknowledged: number;
  readonly found: number;
  readonly lost: number;
  readonly resent: number;
  readonly opMax: number;
}

const options = readOptions();
const prng = new Prng(options.seed);
const folder = mkdtempSync(join(options.directory, 'roundelay-kill9-'));
const data = join(folder, 'data');
const file = join(data, '0_0.roundelay');
const launcher = ownLauncher();
const slots = options.development ? GEOMETRY_DEVELOPMENT.slots : GEOMETRY_DEFAULT.slots;
const history: Sent[] = [];
let clients: TortureClient[] = [];
let clientIndex = 0;
let running: ChildProcess | null = null;
process.on('exit', () => {
  running?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

await main();

async function main(): Promise<void> {
  const beganMs = performance.now();
  mkdirSync(data);
  format();
  const port = await freePort();
  const rounds: Round[] = [];
  while (rounds.length < options.rounds || wraps() < options.wraps) {
    const round = await oneRound(rounds.length + 1, port);
    rounds.push(round);
    note(describe(round));
  }
  const startFinal = await recover(port);
  const checked = await checkEverything(port);
  await end();
  for (const client of clients) client.connection.close();
  const replayed = replay(history, createChecksum());
  const root = await rootOfFile();
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  const startsMs = [...rounds.map((round) => round.startMs), startFinal].filter((ms) => ms > 0);
  const verdict = root === replayed.root ? 'equal' : 'DIFFERENT';
  const summary = {
    rounds: rounds.length,
    wraps: wraps(),
    opMax: opMax(),
    requests: replayed.requests,
    events: replayed.transfers,
    acknowledged: checked,
    found: sum(rounds, (round) => round.found),
    lost: sum(rounds, (round) => round.lost),
    resent: sum(rounds, (round) => round.resent),
    startMsMedian: Math.round(median(startsMs)),
    startMsMax: Math.round(Math.max(...startsMs)),
    root,
    rootOfModel: replayed.root,
    verdict,
    seed: options.seed,
    seconds,
  };
  if (options.json) console.log(JSON.stringify({ ...summary, history: rounds }));
  else for (const [name, value] of Object.entries(summary)) console.log(`${name}: ${value}`);
  process.exitCode = verdict === 'equal' ? 0 : 1;
  if (verdict !== 'equal') note(`again: node scripts/kill9.ts --seed=${options.seed}`);
}

/** Start, settle what the last kill left open, load, kill. */
async function oneRound(round: number, port: number): Promise<Round> {
  if (round > 1 && prng.chance(1, 4)) await killWhileStarting(port);
  const startMs = await recover(port);
  const { found, lost, resent } = await takeUp(port);
  const before = history.filter((sent) => sent.fate === 'acknowledged').length;
  for (const client of clients) void client.run();
  const killedAfterMs = prng.between(50, 500);
  await sleep(killedAfterMs);
  await end('SIGKILL');
  dropClients();
  const acknowledged = history.filter((sent) => sent.fate === 'acknowledged').length - before;
  const counts = { acknowledged, found, lost, resent, opMax: opMax() };
  return { round, startMs: Math.round(startMs), killedAfterMs, ...counts };
}

/** Starts the server and waits for its first answer; returns how long that took. */
async function recover(port: number): Promise<number> {
  const server = await startAndMeasure(launcher, port, file);
  running = server.child;
  return server.startMs;
}

async function killWhileStarting(port: number): Promise<void> {
  const parameters = [...launcher.arguments, 'start', `--addresses=${port}`, file];
  running = spawn(launcher.executable, parameters, { stdio: 'ignore' });
  await sleep(prng.between(20, 300));
  await end('SIGKILL');
}

/**
 * Right after a kill, while nobody can execute anything: some clients keep their session, which
 * will send its request again; the others are dropped for good, so that a lookup can settle theirs.
 */
function dropClients(): void {
  for (const client of clients) client.stop();
  const kept = clients.filter(() => prng.chance(1, 2));
  for (const client of clients) {
    if (!kept.includes(client)) client.connection.close();
  }
  clients = kept;
}

/** After a start: waits for what is sent again, settles the rest, completes the set of clients. */
async function takeUp(port: number): Promise<{ found: number; lost: number; resent: number }> {
  const resent = clients.flatMap((client) => (client.inFlight === null ? [] : [client.inFlight]));
  await until(() => resent.every((sent) => sent.fate === 'acknowledged'));
  while (clients.length < options.clients) {
    clientIndex += 1;
    const client = new TortureClient(port, clientIndex, options.seed, history);
    await client.connection.open();
    clients.push(client);
  }
  const { connection } = clients.at(-1) as TortureClient;
  if (history.length === 0) await createAccounts(connection, history);
  const unknown = history.filter((sent) => sent.fate === 'unknown');
  const settled = await settle(connection, unknown);
  // What was acknowledged lately; everything is looked at again in the end.
  await checkAcknowledged(connection, history.slice(-2000));
  return { ...settled, resent: resent.length };
}

/** With a client of its own: every transfer that was ever acknowledged is there. */
async function checkEverything(port: number): Promise<number> {
  await takeUp(port);
  clientIndex += 1;
  const client = new TortureClient(port, clientIndex, options.seed, history);
  await client.connection.open();
  const count = await checkAcknowledged(client.connection, history);
  client.connection.close();
  assert(count === history.flatMap(acknowledgedTransfers).length, 'a transfer is not counted');
  return count;
}

async function rootOfFile(): Promise<string> {
  const ledger = await startLedger({ directory: data });
  try {
    return ledger.root();
  } finally {
    await ledger.close();
  }
}

function format(): void {
  const parameters = ['format', '--cluster=0', '--replica=0', '--replica-count=1'];
  if (options.development) parameters.push('--development');
  const result = spawnSync(launcher.executable, [...launcher.arguments, ...parameters, file]);
  assert(result.status === 0, 'format failed');
}

async function end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const child = running;
  running = null;
  if (child === null) return;
  if (child.exitCode !== null || child.signalCode !== null) {
    throw new Error('the server has ended by itself');
  }
  const exited = new Promise((done) => child.once('exit', done));
  child.kill(signal);
  await exited;
}

function opMax(): number {
  return history.reduce((max, sent) => Math.max(max, sent.op), 0);
}

function wraps(): number {
  return Math.floor(opMax() / slots);
}

function sum(rounds: readonly Round[], pick: (round: Round) => number): number {
  return rounds.reduce((total, round) => total + pick(round), 0);
}

function describe(round: Round): string {
  const { startMs, killedAfterMs, acknowledged, found, lost, resent } = round;
  return [
    `round ${round.round}: start ${startMs} ms, killed after ${killedAfterMs} ms`,
    `${acknowledged} requests acknowledged, ${resent} sent again by their session`,
    `${found} found by lookup, ${lost} lost unacknowledged, op ${round.opMax}`,
  ].join(', ');
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      server.close(() => done(port));
    });
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, ms);
  });
}

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!condition()) {
    assert(performance.now() < deadlineMs, 'a request that was sent again got no answer');
    await sleep(5);
  }
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '30' },
      wraps: { type: 'string', default: '3' },
      clients: { type: 'string', default: '4' },
      seed: { type: 'string', default: '1' },
      directory: { type: 'string', default: tmpdir() },
      development: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const { directory, development, json } = values;
  return {
    rounds: Number(values.rounds),
    wraps: Number(values.wraps),
    clients: Number(values.clients),
    seed: Number(values.seed),
    directory,
    development,
    json,
  };
}
