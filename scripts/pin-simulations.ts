/**
 * Writes down the fingerprints of the pinned runs as they are now: `npm run pin`, after a change
 * that was meant to change what replicas or the simulator do.
 */
import { writeFileSync } from 'node:fs';
import { type Protocol, runSimulation } from '../src/lab/simulation.ts';
import {
  PINNED_SEEDS,
  PINNED_SEEDS_RAFT,
  type Pin,
  pinsPath,
  raftPinsPath,
} from '../test/simulation-pins.ts';

function pin(protocol: Protocol, seeds: readonly number[], path: string): void {
  const pins = seeds.map((seed): Pin => {
    const { result } = runSimulation(seed, { protocol });
    if (result.failure !== null) throw new Error(`${result.command}: ${result.failure.message}`);
    console.log(`${protocol} seed ${seed} hash ${result.hash}`);
    return { seed, hash: result.hash };
  });
  writeFileSync(path, `${JSON.stringify(pins, null, 2)}\n`);
}

pin('vsr', PINNED_SEEDS, pinsPath);
pin('raft', PINNED_SEEDS_RAFT, raftPinsPath);
