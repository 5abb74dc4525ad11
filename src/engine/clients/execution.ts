/**
 * What executing an operation means, whichever protocol has ordered it: those of the engine itself
 * are answered here, all others by the machine.
 */
import { assert, writeU32 } from '../../stdx/index.ts';
import { HEADER_SIZE, OPERATION_NOOP, OPERATION_REGISTER } from '../../wire/index.ts';
import { REPLY_BODY_SIZE_MAX } from '../limits.ts';
import {
  type ApplyContext,
  type Machine,
  OPERATION_MACHINE_MIN,
  OPERATION_PULSE,
} from '../machine.ts';

/** Body of the reply to a register request, bytes. */
const REGISTER_REPLY_SIZE = 64;

export class Execution {
  readonly #machine: Machine;
  readonly #batchSizeLimit: number;

  /** `requestSizeMax`: the request limit, header included; told to clients when they register. */
  constructor(machine: Machine, requestSizeMax: number) {
    assert(requestSizeMax > HEADER_SIZE, 'Execution: request limit leaves no body');
    this.#machine = machine;
    this.#batchSizeLimit = requestSizeMax - HEADER_SIZE;
  }

  /** Whether the machine has a say in it. */
  isMachines(operation: number): boolean {
    return operation >= OPERATION_MACHINE_MIN || operation === OPERATION_PULSE;
  }

  /**
   * Executes one operation and writes the body of `reply`, a message's bytes; returns the body's
   * size. A machine that throws is broken, and so is the replica: nothing is caught here.
   */
  run(context: ApplyContext, operation: number, body: Uint8Array, reply: Uint8Array): number {
    const replyBody = reply.subarray(HEADER_SIZE, HEADER_SIZE + REPLY_BODY_SIZE_MAX);
    if (operation === OPERATION_REGISTER) return this.#register(replyBody);
    if (operation === OPERATION_NOOP) return 0;
    assert(this.isMachines(operation), 'Execution: an operation that no replica puts into a log');
    const reads = this.#machine.prefetch(operation, body);
    assert(reads.length === 0, 'Execution: machines larger than memory come later');
    const size = this.#machine.apply(context, operation, body, replyBody);
    assert(size >= 0 && size <= REPLY_BODY_SIZE_MAX, 'Execution: reply too large');
    return size;
  }

  #register(body: Uint8Array): number {
    body.fill(0, 0, REGISTER_REPLY_SIZE);
    writeU32(body, 0, this.#batchSizeLimit);
    return REGISTER_REPLY_SIZE;
  }
}
