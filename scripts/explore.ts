/**
 * Looks at every schedule of small clusters, with the real engines: what a scope allows may happen
 * at any moment, in any order, to anybody. Prints for each scope how many different worlds there
 * are; the schedule of the first one in which something is wrong. Exit code 129 when that is so.
 *
 *     node scripts/explore.ts [--engine vsr|raft] [--only N] [--worlds-max 100_000_000]
 *         [--rest-every 50] [--doubts]
 *
 * `--only`: a scope by its place in the list, from 0. `--rest-every`: of the clusters of VSR in
 * which nothing is on its way every so many-th is left in peace, and has to go on. `--doubts`: what
 * was taken for the same is compared; takes a few times as long.
 */
import { parseArgs } from 'node:util';
import { ExitCode } from '../src/cli/exit-codes.ts';
import { type Exploration, explore, type Limits } from '../src/sim/exhaustive/explore.ts';
import { Members, type MembersOptions } from '../src/sim/exhaustive/members.ts';
import { type RaftSubjectOptions, raftSubject } from '../src/sim/exhaustive/raft/raft-subject.ts';
import { type VsrSubjectOptions, vsrSubject } from '../src/sim/exhaustive/vsr/vsr-subject.ts';

const fast = { slowDisks: 0, slowLinks: 0 };

type Scope =
  | { readonly engine: 'vsr'; readonly scope: VsrSubjectOptions }
  | { readonly engine: 'raft'; readonly scope: RaftSubjectOptions };

/** The last one takes as long as all others together, and many times that. */
const SCOPES: readonly Scope[] = [
  { engine: 'vsr', scope: { losses: 1, crashes: 1, slowDisks: 1, slowLinks: 1 } },
  { engine: 'vsr', scope: { losses: 2, slowDisks: 1, slowLinks: 1 } },
  { engine: 'vsr', scope: { losses: 2, crashes: 1 } },
  { engine: 'vsr', scope: { losses: 1, crashes: 2 } },
  { engine: 'vsr', scope: { requests: 2, losses: 1, crashes: 1 } },
  { engine: 'vsr', scope: { requests: 2, losses: 2, slowLinks: 1 } },
  { engine: 'raft', scope: { commands: 1, crashes: 1, losses: 1, ...fast } },
  { engine: 'raft', scope: { commands: 2, crashes: 1, losses: 1, ...fast } },
  { engine: 'vsr', scope: { requests: 2, losses: 1, crashes: 2 } },
];

const { values } = parseArgs({
  options: {
    engine: { type: 'string' },
    only: { type: 'string' },
    'worlds-max': { type: 'string', default: '100_000_000' },
    'rest-every': { type: 'string', default: '50' },
    doubts: { type: 'boolean', default: false },
  },
});
const number = (text: string): number => Number(text.replaceAll('_', ''));
const worldsMax = number(values['worlds-max']);
const restEvery = number(values['rest-every']);

let isWrong = false;
for (const [index, scope] of SCOPES.entries()) {
  if (values.engine !== undefined && values.engine !== scope.engine) continue;
  if (values.only !== undefined && number(values.only) !== index) continue;
  const startMs = performance.now();
  const found = run(scope);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`${index} ${scope.engine} ${JSON.stringify(scope.scope)}`);
  console.log(`  ${tell(found)}, ${seconds} s`);
  if (found.violation === null) continue;
  isWrong = true;
  console.log(`  ${found.violation.problem}`);
  for (const line of found.violation.schedule) console.log(`    ${line}`);
}
process.exitCode = isWrong ? ExitCode.simulationWrong : ExitCode.ok;

function run(one: Scope): Exploration {
  const options: MembersOptions = { doubts: values.doubts };
  let lastMs = performance.now();
  const limits: Limits = {
    worldsMax,
    restEvery,
    onDepth: (depth, worlds, distinct) => {
      if (performance.now() < lastMs + 10_000) return;
      lastMs = performance.now();
      console.error(`  ${distinct} worlds, ${worlds} of them ${depth} moves deep`);
    },
  };
  if (one.engine === 'vsr') return explore(new Members(vsrSubject(one.scope), options), limits);
  return explore(new Members(raftSubject(one.scope), options), limits);
}

function tell(found: Exploration): string {
  const { distinct, transitions, depth, states, quiet, rested, doubted, isExhausted } = found;
  const end = isExhausted ? 'all' : 'not all';
  const rest = rested === 0 ? '' : `, ${rested} of ${quiet} at rest go on`;
  const doubt = doubted === 0 ? '' : `, ${doubted} moves made twice`;
  return (
    `${distinct} worlds (${end}), ${transitions} ways to them, ${depth} moves deep, ` +
    `${states} states of replicas${rest}${doubt}`
  );
}
