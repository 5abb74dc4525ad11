/** The end of a long-running command: a signal arrives, work is wound up, within two seconds. */

/** After this the process ends, wound up or not, milliseconds. Recovery copes with either. */
const LIMIT_MS = 1500;
/** The same for a server that has not served anybody yet. */
export const LIMIT_STARTING_MS = 300;

/** Resolves with the first SIGINT or SIGTERM; later ones change nothing. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.on('SIGINT', resolve);
    process.on('SIGTERM', resolve);
    process.on('SIGHUP', resolve);
  });
}

/** Runs `close` and ends the process with `exitCode`, at the latest after the limit. */
export async function windUp(
  close: () => Promise<void>,
  exitCode: number,
  limitMs: number = LIMIT_MS,
): Promise<never> {
  const timer = setTimeout(() => process.exit(exitCode), limitMs);
  try {
    await close();
  } finally {
    clearTimeout(timer);
  }
  process.exit(exitCode);
}

/** A signal as an abort, for commands that do a piece of work and then end. */
export function abortOnSignal(): AbortController {
  const controller = new AbortController();
  void untilSignal().then((signal) => controller.abort(new Interrupted(signal)));
  return controller;
}

/** The reason of {@link abortOnSignal}. */
export class Interrupted extends Error {
  override readonly name: string = 'Interrupted';

  constructor(signal: string) {
    super(`interrupted by ${signal}`);
  }
}
