/**
 * What one step wants done; the parts of this engine that ask for storage operations.
 */
import { StepOutbox } from '../engine/index.ts';
import type { Message } from '../wire/index.ts';

/** Who asked for a storage operation. */
export const Part = { journal: 0, superblock: 1, checkpoint: 2, recovery: 3, sync: 4 } as const;
export type Part = (typeof Part)[keyof typeof Part];
const PARTS = 5;

export class Outbox extends StepOutbox<Part> {
  /** `release` gets the messages that were to be sent after a halt. */
  constructor(release: ((message: Message) => void) | null = null) {
    super(PARTS, release);
  }
}
