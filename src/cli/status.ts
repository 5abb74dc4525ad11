/** `roundelay status`: asks every replica how it is; a table for people, JSON for machines. */
import type { Command } from 'commander';
import type { ReplicaReport } from '../client/index.ts';
import { clusterOption, integer } from './arguments.ts';
import { CliError, explain } from './problem.ts';

interface Options {
  addresses: string;
  cluster: bigint;
  timeoutMs: number;
  json?: boolean;
}

/** One replica's answer, or why there is none. */
interface Answer {
  readonly address: string;
  readonly status: ReplicaReport | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export function define(command: Command): void {
  command
    .requiredOption('--addresses <list>', 'the replicas to ask')
    .addOption(clusterOption(command))
    .option(
      '--timeout-ms <ms>',
      'how long to wait for each',
      integer('--timeout-ms', 1, 600_000),
      2000,
    )
    .option('--json', 'one JSON object with everything that the replicas report')
    .action((options: Options) => run(options));
}

async function run(options: Options): Promise<void> {
  const situation = { command: 'status', addresses: options.addresses };
  const { parseAddresses, addressText } = await import('../io/index.ts');
  const { requestStatus } = await import('../client/index.ts');
  let first: unknown = null;
  try {
    const addresses = parseAddresses(options.addresses);
    const { cluster, timeoutMs } = options;
    const answers = await Promise.all(
      addresses.map(async (address): Promise<Answer> => {
        try {
          const status = await requestStatus({ address, cluster, timeoutMs });
          return { address: addressText(address), status, error: null };
        } catch (error) {
          first ??= error;
          const code = error instanceof Error && 'code' in error ? String(error.code) : '';
          const message = error instanceof Error ? error.message : String(error);
          return { address: addressText(address), status: null, error: { code, message } };
        }
      }),
    );
    // Nobody has answered: that is an error, not a table.
    if (answers.every((answer) => answer.status === null)) throw first;
    if (options.json === true) console.log(JSON.stringify({ replicas: answers }));
    else console.log(await table(answers));
  } catch (error) {
    throw explain(error, situation);
  }
  const explained = first === null ? null : explain(first, situation);
  if (explained instanceof CliError) process.exitCode = explained.exitCode;
}

/** What the table says of one replica: names of rows, and what is in them. */
export function cellsOf(status: ReplicaReport): ReadonlyMap<string, string> {
  return new Map(rows.map(([name, pick]) => [name, text(pick(status))]));
}

const rows: readonly (readonly [string, (status: ReplicaReport) => unknown])[] = [
  ['role', (status) => status['role']],
  ['waiting for', waiting],
  ['cluster', (status) => cluster(status['cluster'])],
  ['replica', (status) => `${text(status['replica'])} of ${text(status['replicaCount'])}`],
  ['release', (status) => release(status['release'])],
  // Rows that only one engine has are left out for the other.
  ['engine', (status) => (status['engine'] === 'raft' ? 'raft' : '')],
  ['term', (status) => status['term']],
  ['view', (status) => status['view']],
  ['primary', primary],
  ['connected', connected],
  ['topology', (status) => (isAlone(status) ? '' : status['topology'])],
  ['clock', clock],
  ['op', (status) => status['op']],
  ['commit', (status) => `${text(status['commitMin'])} (known ${text(status['commitMax'])})`],
  ['durable', (status) => status['opDurable']],
  ['checkpoint', (status) => status['checkpointOp'] ?? field(status['checkpoint'], 'op')],
  ['checkpoint root', (status) => field(status['checkpoint'], 'root')],
  ['digest', (status) => status['digest']],
  ['sessions', (status) => status['sessions']],
  ['connections', (status) => field(status['clients'], 'connections')],
  ['dropped', (status) => counts(status['dropped'])],
  ['refused', (status) => counts(status['refused'])],
  ['closed', (status) => counts(field(status['clients'], 'closed'))],
  ['memory', (status) => mebibytes(status['memoryBytes'])],
  ['file', (status) => status['file']],
  ['durable writes', (status) => status['durability']],
];

function isAlone(status: ReplicaReport): boolean {
  return status['replicaCount'] === 1;
}

/** What keeps it from committing. */
function waiting(status: ReplicaReport): string {
  const { connected: have, quorum: need, role } = status;
  if (status['isReadOnly'] === true) return 'room on its disk';
  if (typeof have === 'number' && typeof need === 'number' && have < need) {
    return `quorum, have ${have} of ${need}`;
  }
  if (status['isDeaf'] === true) return 'word from the others';
  const isPrimary = role === 'primary';
  if (isPrimary && field(status['clock'], 'isSynchronized') === false) return 'agreement on time';
  return role === 'view-change' || role === 'recovering-head' ? 'a primary' : '';
}

function primary(status: ReplicaReport): string {
  if (isAlone(status)) return '';
  const known = status['role'] === 'primary' || status['role'] === 'backup';
  return known ? `replica ${text(status['primary'])}` : 'none';
}

function connected(status: ReplicaReport): string {
  if (isAlone(status)) return '';
  return list(status['links'])
    .map((link) => {
      const problem = field(link, 'problem');
      const why = typeof problem === 'string' ? ` (${problem})` : '';
      const replica = field(link, 'replica');
      const isStranger = list(status['strangers']).includes(replica);
      const isUp = field(link, 'isUp') === true;
      const state = isStranger ? 'not trusted: another file' : isUp ? 'yes' : `no${why}`;
      return `${text(replica)} ${state}`;
    })
    .join('\n');
}

/** Whether it agrees with the others, and how far which clocks are off from the agreed time. */
function clock(status: ReplicaReport): string {
  if (isAlone(status)) return '';
  const value = status['clock'];
  if (status['engine'] === 'raft') return '';
  if (field(value, 'isSynchronized') !== true) return 'not agreed';
  const agreedNs = (number(field(value, 'offsetNsMin')) + number(field(value, 'offsetNsMax'))) / 2;
  let own = 'agreed';
  let others = '';
  for (const source of list(field(value, 'sources'))) {
    if (field(source, 'isOutvoted') !== true) continue;
    const offsetNs = number(field(source, 'offsetNs')) - agreedNs;
    const off = `off by ${Math.round(offsetNs / 1_000_000)} ms`;
    const replica = field(source, 'replica');
    if (replica === status['replica']) own = `outvoted, ${off}`;
    else others += `\nreplica ${text(replica)} is ${off}`;
  }
  return own + others;
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A column per replica, since a replica says more than fits into a row. */
async function table(answers: readonly Answer[]): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const { default: colors } = await import('picocolors');
  const lines = new Table({
    head: ['', ...answers.map(({ address }) => colors.bold(address))],
    style: { head: [], border: [] },
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
  });
  for (const [name, pick] of rows) {
    const cells = answers.map(({ status }) => (status === null ? '' : text(pick(status))));
    if (cells.some((cell) => cell !== '')) lines.push([name, ...cells]);
  }
  if (answers.some(({ error }) => error !== null)) {
    lines.push(['no answer', ...answers.map(({ error }) => error?.code ?? '')]);
  }
  return lines.toString();
}

function text(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

/** Counters that are not zero, one a line. */
function counts(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  const lines = Object.entries(value).flatMap(([name, count]) =>
    count === 0 ? [] : [`${name} ${text(count)}`],
  );
  return lines.length === 0 ? 'none' : lines.join('\n');
}

function mebibytes(value: unknown): string {
  return typeof value === 'number' ? `${Math.round(value / 1_048_576)} MiB` : text(value);
}

/** The number that people give, from the 16 bytes in hexadecimal, lowest first. */
function cluster(value: unknown): string {
  const bytes = typeof value === 'string' ? value.match(/[0-9a-f]{2}/g) : null;
  return bytes === null ? text(value) : String(BigInt(`0x${bytes.reverse().join('')}`));
}

function release(value: unknown): string {
  if (typeof value !== 'number') return text(value);
  return `${value >>> 16}.${(value >>> 8) & 0xff}.${value & 0xff}`;
}
