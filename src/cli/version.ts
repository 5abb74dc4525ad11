/** `roundelay version`: which program this is. Loads next to nothing, to answer at once. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';

export interface VersionInfo {
  readonly version: string;
  readonly node: string;
  readonly platform: string;
}

export function versionInfo(): VersionInfo {
  const path = new URL('../../package.json', import.meta.url);
  const { version }: { version: string } = JSON.parse(readFileSync(path, 'utf8'));
  return { version, node: process.version, platform: `${process.platform}-${process.arch}` };
}

interface VersionOptions {
  readonly verbose?: boolean;
  readonly json?: boolean;
}

/** Prints the version; with `verbose` what it runs on, with `json` all of it for machines. */
export function printVersion(options: VersionOptions): void {
  const info = versionInfo();
  if (options.json === true) console.log(JSON.stringify(info));
  else if (options.verbose === true) {
    console.log(`roundelay ${info.version}`);
    console.log(`node ${info.node} on ${info.platform}`);
  } else console.log(`roundelay ${info.version}`);
}

export function define(command: Command): void {
  command
    .option('--verbose', 'also print what it runs on')
    .option('--json', 'print one JSON object')
    .action((options: VersionOptions) => printVersion(options));
}
