/** What every command gets: its arguments, and where output goes. */
import { databaseDirectory, packageDirectory, within } from '../shared/directories.ts';
import { COMPATIBLE_VERSION } from '../shared/program.ts';

export const PROGRAM = 'ovsdb-tool';

export interface ToolContext {
  /** Behind the command's name. */
  readonly args: readonly string[];
  /** How often `--more` was given. */
  readonly verbosity: number;
  readonly rbacRole: string | null;
  /** Of the cluster to join. */
  readonly clusterId: string | null;
  /** Of a new cluster. */
  readonly electionTimerMs: number | null;
  readonly print: (line: string) => void;
  /** A line for the log, which for this program is standard error. */
  readonly warn: (module: string, text: string, level?: 'WARN' | 'ERR') => void;
}

/** What compacted files say about who made them. */
export function madeBy(): string {
  return `${PROGRAM} ${COMPATIBLE_VERSION}`;
}

export function defaultDatabase(): string {
  return within(databaseDirectory(), 'conf.db');
}

export function defaultSchema(): string {
  return within(packageDirectory(), 'vswitch.ovsschema');
}
