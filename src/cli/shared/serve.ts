/** What `start` and `dev` have in common: a server runs until it is told to end, or must. */
import { LIMIT_STARTING_MS, untilSignal, windUp } from '../shutdown.ts';

/** A started server, whichever way. */
interface Server {
  readonly ended: Promise<Error | null>;
  close(): Promise<void>;
}

/**
 * Starts a server, announces it and waits. A signal ends the process with code 0 within two
 * seconds, also while the server is still starting; throws what made the server stop by itself.
 */
export async function serve<T extends Server>(
  start: () => Promise<T>,
  announce: (server: T) => void,
): Promise<void> {
  const signal = untilSignal();
  const starting = start();
  const early = await Promise.race([starting, signal]);
  if (typeof early === 'string') {
    const close = async (): Promise<void> => (await starting.catch(() => null))?.close();
    await windUp(close, 0, LIMIT_STARTING_MS);
    return;
  }
  announce(early);
  const end = await Promise.race([signal, early.ended]);
  if (typeof end === 'string') await windUp(() => early.close(), 0);
  else if (end !== null) throw end;
}
