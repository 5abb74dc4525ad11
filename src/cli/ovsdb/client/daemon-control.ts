/** What commands know of running in the background; in the foreground there is nothing to it. */

import type { Rpc } from './connection/rpc.ts';
import type { LockMethod } from './lock.ts';

/** What a control socket may ask of a command that runs in the background. */
export interface Control {
  /** Commands of monitors: to print nothing for a while, to change a condition. */
  serve(rpc: Rpc): void;
  /** When printing is allowed. */
  unblocked(): Promise<void>;
  serveLocks(ask: (method: LockMethod, lock: string) => void): void;
}

export interface DaemonControl {
  /** Before the first output; `null`: the command has no control socket. */
  start(): Promise<Control | null>;
  /** The caller may go on. `keptFiles`: of 1 and 2, what the command still writes to. */
  ready(keptFiles: readonly number[]): Promise<void>;
  /** Both, for commands without a control socket. */
  detach(): Promise<void>;
}

export const foregroundControl: DaemonControl = {
  start: async () => null,
  ready: async () => {},
  detach: async () => {},
};
