/**
 * Runs of clusters whose fingerprints are written down: the same on every machine and every version
 * of Node. Whoever changes what replicas or the simulator do changes them, and says so by writing
 * them anew: `npm run pin`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Five, six and three replicas; key-value store, counter and ledger. */
export const PINNED_SEEDS: readonly number[] = [1, 5, 6];
/** Five, three and seven members; key-value store, ledger and counter. */
export const PINNED_SEEDS_RAFT: readonly number[] = [0, 1, 4];

export const pinsPath: string = join(import.meta.dirname, 'fixtures/simulation-hashes.json');
export const raftPinsPath: string = join(import.meta.dirname, 'fixtures/raft-hashes.json');

export interface Pin {
  readonly seed: number;
  readonly hash: string;
}

export function readPins(path: string = pinsPath): readonly Pin[] {
  return JSON.parse(readFileSync(path, 'utf8')) as readonly Pin[];
}
