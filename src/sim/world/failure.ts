/**
 * How a simulated run fails. Everything that a checker finds ends as this one class with a stable
 * code, so that a campaign can count failures by kind and a test can demand the right one.
 */

/**
 * What went wrong.
 *
 * - `engine-crash`: the engine threw (an assertion, usually) in a step or in `invariants`.
 * - `engine-halt`: the engine asked to be stopped though nothing was injected that justifies it.
 * - `disk-misuse`: overlapping writes in flight, unaligned access, a buffer changed under a write.
 * - `message-misuse`: a message changed after it was sent, or sent on a connection it never had.
 * - `message-leak`: messages are held that nobody declares.
 * - `reply-invalid`: a reply that makes an official client abort or ignore it.
 * - `reply-changed`: a request was answered twice with different bytes.
 * - `lost-operation`: an acknowledged or applied operation is gone or different after a restart.
 * - `double-apply`: a request was executed more than once, or an operation that nobody asked for.
 * - `order`: operation numbers are not contiguous or timestamps do not increase.
 * - `divergence`: reply, root or digest differ from the reference machine that applied the same.
 * - `linearizability`: no order of the operations explains what clients were told.
 * - `eviction`: a client was evicted without reason, or with the wrong one.
 * - `fork`: two prepares at one place of one view, or committed at one place of the log.
 * - `view`: a view that is not durable, is older than one before, or has two primaries.
 * - `not-durable`: acknowledged or called committed, and not in the files that it must be in.
 * - `convergence`: replicas that can talk to each other do not come to the same state.
 * - `liveness`: requests were not finished by the virtual deadline.
 * - `coverage`: a campaign enabled a fault that never happened.
 */
export type FailureCode =
  | 'engine-crash'
  | 'engine-halt'
  | 'disk-misuse'
  | 'message-misuse'
  | 'message-leak'
  | 'reply-invalid'
  | 'reply-changed'
  | 'lost-operation'
  | 'double-apply'
  | 'order'
  | 'divergence'
  | 'linearizability'
  | 'eviction'
  | 'fork'
  | 'view'
  | 'not-durable'
  | 'convergence'
  | 'liveness'
  | 'coverage';

export class SimulationFailure extends Error {
  override readonly name: string = 'SimulationFailure';
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, cause?: unknown) {
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Fails the run unless `condition` holds. `message` is built only when it does not. */
export function check(
  condition: boolean,
  code: FailureCode,
  message: () => string,
): asserts condition {
  if (!condition) throw new SimulationFailure(code, message());
}
