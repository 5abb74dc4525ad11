/**
 * Flags of the original that tune what does not exist here. Scripts written for it keep working:
 * the flags are accepted, and one line on standard error says that they do nothing.
 */
import type { Command } from 'commander';

/** Accepted by `start`; most come with a value. */
const startFlags: readonly string[] = [
  '--cache-grid <size>',
  '--cache-accounts <size>',
  '--cache-transfers <size>',
  '--cache-transfers-pending <size>',
  '--limit-storage <size>',
  '--limit-pipeline-requests <count>',
  '--limit-request <size>',
  '--memory-lsm-manifest <size>',
  '--memory-lsm-compaction <size>',
  '--timeout-prepare-ms <ms>',
  '--timeout-grid-repair-message-ms <ms>',
  '--commit-stall-probability <ratio>',
  '--replicate-star',
  '--experimental',
];

/** Accepted by `benchmark`. */
const benchmarkFlags: readonly string[] = [
  '--cache-grid <size>',
  '--cache-accounts <size>',
  '--cache-transfers <size>',
  '--cache-transfers-pending <size>',
  '--log-debug',
  '--log-debug-replica',
];

/** Adds the flags, hidden from the help, which names them in one line. */
export function addFlagsWithoutEffect(command: Command, of: 'start' | 'benchmark'): void {
  const flags = of === 'start' ? startFlags : benchmarkFlags;
  for (const flag of flags) {
    command.addOption(command.createOption(flag).hideHelp());
  }
  const names = flags.map((flag) => flag.split(' ')[0]);
  command.addHelpText('after', `\nAccepted without effect: ${names.join(', ')}`);
}

/** Says which flags of the command line do nothing, on one line, if there are any. */
export function warnOfFlagsWithoutEffect(command: Command, of: 'start' | 'benchmark'): void {
  const known = new Set((of === 'start' ? startFlags : benchmarkFlags).map((f) => f.split(' ')[0]));
  const given = command.options
    .filter((option) => known.has(option.long ?? ''))
    .filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
    .map((option) => option.long);
  if (given.length === 0) return;
  const verb = given.length === 1 ? 'has' : 'have';
  process.stderr.write(`note: ${given.join(', ')} ${verb} no effect here\n`);
}
