/** What can be wrong with a machine of one's own, as a failure of a simulated run. */
import { SimulationFailure } from '../world/failure.ts';

/**
 * - `nondeterministic`: the same operations led to other answers or another state; or the machine
 *   looked at a clock or at chance.
 * - `state-lost`: a machine that was restored from a checkpoint is not the one it was.
 * - `query-mutates`: a question changed the state.
 * - `machine-threw`: it threw what it must not.
 * - `invariant`: the check of the state that came with the run does not hold.
 * - `workload-mutates`: the workload changed the state that it may only look at.
 */
export type MachineFailureCode =
  | 'nondeterministic'
  | 'state-lost'
  | 'query-mutates'
  | 'machine-threw'
  | 'invariant'
  | 'workload-mutates';

/** Where it happened. */
export interface Place {
  /** `null`: on the reference, which is on no replica. */
  readonly replica: number | null;
  /** How often that replica had been started by then, from 1. */
  readonly life: number;
  /** `null`: outside of any operation. */
  readonly op: number | null;
}

export class MachineFailure extends SimulationFailure {
  override readonly name: string = 'MachineFailure';
  readonly kind: MachineFailureCode;
  readonly place: Place;
  /** The message without its code. */
  readonly text: string;
  /** What the operation was, as a request. */
  readonly request: { readonly operation: number; readonly body: Uint8Array } | null;

  constructor(
    kind: MachineFailureCode,
    place: Place,
    text: string,
    request: MachineFailure['request'] = null,
    cause?: unknown,
  ) {
    super(kind === 'machine-threw' ? 'engine-crash' : 'divergence', `${kind}: ${text}`, cause);
    this.kind = kind;
    this.place = place;
    this.text = text;
    this.request = request;
  }
}
