/**
 * A key-value store on three real processes under kill -9: every two seconds the leader or a
 * follower, in turn, while 32 clients ask without a pause. What they saw must be linearizable, key
 * by key, and every request answered in the end: anything else ends the run with 1. How long nobody
 * was answered around a kill of a leader is reported beside the goal.
 *
 *   node scripts/torture-replicas.ts [--engine=vsr|raft] [--seconds=300] [--clients=32]
 *     [--period=2000] [--seed=1] [--hasty] [--development]
 *     [--directory=FOLDER] [--keep] [--json]
 *
 * `--period`: ms from one kill to the next; up to five times that where what was killed is not back
 * by then, so that one replica at a time is missing. `--hasty`: kills again even so. `--keep`:
 * after a failure the files of the replicas stay.
 */
import { parseArgs } from 'node:util';
import { ENGINES } from '../test/e2e/replica-processes.ts';
import { type TortureResult, tortureReplicas } from '../test/e2e/replica-torture.ts';

/** Median without an answer when a leader is killed, ms. */
const GOALS_MS = { vsr: 500, raft: 400 } as const;

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'vsr' },
    seconds: { type: 'string', default: '300' },
    clients: { type: 'string', default: '32' },
    period: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    directory: { type: 'string' },
    development: { type: 'boolean', default: false },
    hasty: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const engine = ENGINES.find((name) => name === values.engine);
if (engine === undefined) throw new Error(`--engine is one of ${ENGINES.join(', ')}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const result = await tortureReplicas({
  engine,
  seconds: Number(values.seconds),
  clients: Number(values.clients),
  seed: Number(values.seed),
  periodMs: Number(values.period),
  isHasty: values.hasty,
  isSmall: values.development,
  isKept: values.keep,
  ...(values.directory === undefined ? {} : { directory: values.directory }),
  onKill: ({ replica, wasLeader, gapMs, backMs }) => {
    const who = wasLeader ? 'leader' : 'follower';
    const back = backMs === null ? ', not back' : `, back after ${backMs.toFixed(0)} ms`;
    const gap = `${gapMs.toFixed(0)} ms without an answer`;
    process.stderr.write(`killed ${replica}, ${who}: ${gap}${back}\n`);
  },
});
console.log(values.json ? JSON.stringify(result) : summary(result));
for (const problem of result.problems) console.error(problem);
if (!result.isLinearizable || result.problems.length > 0) process.exitCode = 1;

function summary(done: TortureResult): string {
  const notBack = done.kills.filter(({ backMs }) => backMs === null).length;
  const { failoverMs, kills, operations, unknown, notDone, sessionsLost, unclear } = done;
  const goalMs = GOALS_MS[done.engine];
  const verdict = failoverMs.median <= goalMs ? 'met' : 'MISSED';
  return [
    `${done.engine}: ${done.seconds} s, ${done.clients} clients, ${kills.length} kills, ${notBack} not back at the next`,
    `${operations} operations (${Math.round(operations / done.seconds)}/s), all answered`,
    `${unknown} unknown, ${notDone} not done, ${sessionsLost} sessions lost`,
    done.isLinearizable ? 'linearizable' : `NOT linearizable (${unclear} keys unclear)`,
    `${failoverMs.count} leaders killed: median ${failoverMs.median.toFixed(0)} ms ` +
      `(goal ${goalMs} ms: ${verdict}), worst ${failoverMs.worst.toFixed(0)} ms`,
    `slowest request ${done.slowestMs.toFixed(0)} ms`,
  ].join('; ');
}
