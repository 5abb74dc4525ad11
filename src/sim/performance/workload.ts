/**
 * What clients ask for while figures are taken: always the same amount of it, so that only the
 * cluster makes a difference. A body outweighs its header enough for bytes to tell whose link
 * carries the copies.
 */
import { KEY_VALUE_PUT, keyValueBody } from '../../engine/index.ts';
import type { Subject } from '../subjects/subject.ts';
import { keyValueSubject } from '../subjects/subjects.ts';

const KEYS = 32;
const VALUE_SIZE = 1024;

export function putSubject(): Subject {
  return {
    ...keyValueSubject(),
    workload: ({ prng }) => {
      const next = (): { operation: number; body: Uint8Array } => {
        const value = new Uint8Array(VALUE_SIZE);
        // Bodies differ, as checkers want it.
        prng.fill(value.subarray(0, 16));
        return { operation: KEY_VALUE_PUT, body: keyValueBody(`key ${prng.below(KEYS)}`, value) };
      };
      return { next, invalid: () => ({ ...next(), operation: 255, reason: 0 }) };
    },
  };
}
