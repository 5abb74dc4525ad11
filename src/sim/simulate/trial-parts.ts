/** What all probed machines of one run share. */
import type { Adapter } from './adapter.ts';
import type { Book } from './book.ts';
import type { Checks, SimulateOptions } from './options.ts';
import type { OutsideWorld } from './outside-world.ts';
import type { Story } from './story.ts';

export interface TrialParts<S, C, O, Q> {
  readonly seed: number;
  readonly replicas: number;
  readonly adapter: Adapter<S, C, O, Q>;
  readonly book: Book;
  readonly story: Story;
  readonly outside: OutsideWorld;
  readonly forbidsOutside: boolean;
  /** With the reference. */
  readonly isCompared: boolean;
  readonly invariant: NonNullable<Checks<S, C, O>['invariant']> | null;
  readonly questions: NonNullable<SimulateOptions<S, C, O, Q>['questions']> | null;
  /** States are values that can be shown. */
  readonly hasValues: boolean;
}
