/**
 * `roundelay replay`: makes the steps of a replica that was recorded with `start --record` again,
 * with this program's engine, and says whether it asks for the same effects.
 */
import type { Command } from 'commander';
import type { Machine } from '../engine/index.ts';
import type { Difference, RecordingEnd, ReplayReport, ReplayStep } from '../host/index.ts';
import type { Checksum } from '../wire/index.ts';
import { integer } from './arguments.ts';
import { ExitCode } from './exit-codes.ts';
import { CliError, explain } from './problem.ts';

interface Options {
  trace?: boolean;
  from: number;
  to: number;
}

export function define(command: Command): void {
  const step = (flag: string): ((text: string) => number) => {
    return integer(flag, 1, Number.MAX_SAFE_INTEGER);
  };
  command
    .description(
      'Make the steps of a replica again that was recorded with `roundelay start --record`: a new ' +
        'engine is told the same, nothing is written and nothing is sent. It must ask for the ' +
        'same effects; if it does not, the first step at which it differs is shown.',
    )
    .argument('<file>', 'the recording')
    .option('--trace', 'print each event and effect')
    .option('--from <step>', 'with --trace: not before this step', step('--from'), 1)
    .option('--to <step>', 'with --trace: not after it', step('--to'), Number.MAX_SAFE_INTEGER)
    .action((file: string, options: Options) => run(file, options));
}

async function run(path: string, options: Options): Promise<void> {
  const { replayRecording } = await import('../host/index.ts');
  const { effectText, eventText } = await import('../sim/world/trace-line.ts');
  const machines = await loadMachines();
  const texts: Texts = { effectText, eventText };
  const isShown = ({ number }: ReplayStep): boolean => {
    return options.trace === true && number >= options.from && number <= options.to;
  };
  let report: ReplayReport;
  try {
    report = await replayRecording({
      path,
      machine: (name, checksum) => machines[name]?.(checksum) ?? null,
      onStep: (one) => {
        if (isShown(one)) console.log(stepText(one, texts));
      },
      onDifference: ({ step }) => console.log(stepText(step, texts)),
    });
  } catch (error) {
    throw explain(error, { command: 'replay', record: path });
  }
  conclude(path, report);
}

type MachineMaker = (checksum: Checksum) => Machine;

/** Of the machines that this program has; others are replayed by programs that have them. */
async function loadMachines(): Promise<{ readonly [name: string]: MachineMaker }> {
  const { Ledger } = await import('../ledger/index.ts');
  const { CounterMachine, KeyValueMachine } = await import('../engine/index.ts');
  return {
    ledger: (checksum) => new Ledger({ checksum }),
    'key-value': (checksum) => new KeyValueMachine(checksum),
    counter: () => new CounterMachine(),
  };
}

interface Texts {
  readonly effectText: (effect: ReplayStep['effects'][number]) => string;
  readonly eventText: (event: ReplayStep['event']) => string;
}

/** The event, and below it the effects. */
function stepText({ number, now, event, effects }: ReplayStep, texts: Texts): string {
  const ms = (now.monoNs / 1e6).toFixed(3).padStart(15);
  const first = `${ms} ${String(number).padStart(8)} > ${event.type} ${texts.eventText(event)}`;
  const rest = effects.map((effect) => {
    return `${' '.repeat(24)} < ${effect.type} ${texts.effectText(effect)}`.trimEnd();
  });
  return [first.trimEnd(), ...rest].join('\n');
}

function conclude(path: string, report: ReplayReport): void {
  const { steps, lives, life, end, threw, difference } = report;
  const what = `${steps} steps in ${lives} ${lives === 1 ? 'life' : 'lives'}`;
  if (difference !== null) throw differs(difference, steps);
  if (end === 'damaged') {
    const text = `recording ${path} is damaged after step ${steps}; until there all was the same`;
    throw new CliError(text, ExitCode.fileCorrupt);
  }
  const engine = life === null ? 'nothing' : `${life.machine} on ${life.engine}`;
  console.log(`${path}: ${engine}, ${what}, all with the same effects`);
  if (threw !== null) console.log(`the last step throws, as it did: ${threw}`);
  else console.log(endTexts[end ?? 'closed']);
}

function differs({ step, text }: Difference, steps: number): CliError {
  const { number, life, event } = step;
  return new CliError(
    `step ${number} (${event.type}, life ${life}) differs: ${text}; ` +
      `the ${steps} steps before it were the same`,
    ExitCode.replayDiffers,
  );
}

const endTexts: { readonly [end in RecordingEnd]: string } = {
  closed: 'the recording ends where the server was stopped',
  full: 'the recording ends where it was full',
  'cut-off': 'the recording ends in the middle of a step, as if the process had been killed',
  damaged: 'the recording is damaged',
};
