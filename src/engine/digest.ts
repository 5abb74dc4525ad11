/**
 * The online digest: one value that sums up everything a replica has executed so far,
 * d_k = H(d_{k−1} ‖ checksum of prepare k ‖ checksum of reply k). Two replicas that agree on it
 * have executed the same operations with the same results; a machine that is not deterministic
 * shows at its first different reply, not at the next checkpoint.
 */
import { assert } from '../stdx/index.ts';
import { CHECKSUM_SIZE, type Checksum } from '../wire/index.ts';

export class Digest {
  readonly #checksum: Checksum;
  /** d ‖ prepare checksum ‖ reply checksum: the input of the next step, with d in place. */
  readonly #input: Uint8Array = new Uint8Array(3 * CHECKSUM_SIZE);

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  /** A copy of d, 16 bytes. */
  get value(): Uint8Array {
    return this.#input.slice(0, CHECKSUM_SIZE);
  }

  /** Goes on from a known d: that of a checkpoint. */
  restore(value: Uint8Array): void {
    assert(value.length === CHECKSUM_SIZE, 'Digest: a digest has 16 bytes');
    this.#input.set(value, 0);
  }

  /** Takes in one operation; both headers begin with their checksum. */
  update(prepare: Uint8Array, reply: Uint8Array): void {
    assert(prepare.length >= CHECKSUM_SIZE, 'Digest: no prepare');
    assert(reply.length >= CHECKSUM_SIZE, 'Digest: no reply');
    for (let i = 0; i < CHECKSUM_SIZE; i++) {
      this.#input[CHECKSUM_SIZE + i] = prepare[i];
      this.#input[2 * CHECKSUM_SIZE + i] = reply[i];
    }
    this.#checksum.digest(this.#input, 0, this.#input.length, this.#input, 0);
  }
}
