/**
 * Writes down the fingerprints of the pinned runs as they are now: `npm run pin`, after a change
 * that was meant to change what replicas or the simulator do.
 */
import { writeFileSync } from 'node:fs';
import { runSimulation } from '../src/lab/simulation.ts';
import { PINNED_SEEDS, type Pin, pinsPath } from '../test/simulation-pins.ts';

const pins = PINNED_SEEDS.map((seed): Pin => {
  const { result } = runSimulation(seed, {});
  if (result.failure !== null) throw new Error(`${result.command}: ${result.failure.message}`);
  console.log(`seed ${seed} hash ${result.hash}`);
  return { seed, hash: result.hash };
});
writeFileSync(pinsPath, `${JSON.stringify(pins, null, 2)}\n`);
