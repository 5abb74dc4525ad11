/**
 * The comparison: one stream of requests goes to the naive model and to a machine, and whatever the
 * two say must be the same: verdicts, timestamps used up, replies to the byte, what is due, the
 * root of the content, checkpoint blocks; also after the machine was thrown away and restored from
 * its last checkpoint with the operations since.
 *
 * A seed is a run: same seed, same requests, whatever the machine does. The number of events only
 * says where to stop, so a difference shows again with a run that stops just behind it.
 */
import type { Machine } from '../../engine/index.ts';
import { bytesEqual, Prng, toHex, u64FromBigInt } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import { LedgerModel, Operation, PULSE } from '../ledger-model/index.ts';
import { type Difference, describeReplies } from './describe.ts';
import { Histogram } from './histogram.ts';
import { type Applied, MachineDriver } from './machine-driver.ts';
import { malformed } from './malformed.ts';
import { Picker } from './picker.ts';
import { makeRequest, type Request } from './requests.ts';
import { Clock, nextWall, type Scenario, scenarioOf } from './scenario.ts';

export interface CompareOptions {
  /** Makes an empty machine: at the start and for every restart. */
  readonly create: () => Machine;
  readonly checksum: Checksum;
  readonly seed: number;
  /** Create events after which the run ends. */
  readonly events: number;
  /** Restarts and checkpoints happen; default true. */
  readonly restarts?: boolean;
}

export interface CompareResult {
  readonly difference: Difference | null;
  readonly histogram: Histogram;
  readonly events: number;
  readonly operations: number;
}

/** Runs until the events are used up or the first difference. */
export function compareLedger(options: CompareOptions): CompareResult {
  const comparison = new Comparison(options);
  const difference = comparison.run();
  const { histogram, events, op } = comparison;
  return { difference, histogram, events, operations: op };
}

/** Leaves the run at the first difference; never seen outside of this file. */
class Stop extends Error {
  readonly difference: Difference;
  constructor(difference: Difference) {
    super('difference');
    this.difference = difference;
  }
}

class Comparison {
  readonly histogram: Histogram = new Histogram();
  events: number = 0;
  op: number = 0;

  readonly #options: CompareOptions;
  readonly #scenario: Scenario;
  readonly #clock: Clock;
  readonly #model: LedgerModel = new LedgerModel();
  readonly #driver: MachineDriver;
  /** What is asked; what else happens; separate, so that one does not change the other. */
  readonly #picker: Picker;
  readonly #chance: Prng;
  #timestamp: bigint = 0n;
  #rootAt: number = 0;
  #checkpointAt: number = 0;
  #restartAt: number = 0;

  constructor(options: CompareOptions) {
    this.#options = options;
    this.#scenario = scenarioOf(options.seed);
    this.#clock = new Clock(this.#scenario.wallStart);
    this.#driver = new MachineDriver(options.create);
    this.#picker = new Picker(new Prng(options.seed, 0), this.#model.state);
    this.#chance = new Prng(options.seed, 1);
  }

  run(): Difference | null {
    try {
      while (this.events < this.#options.events) this.#step();
      this.#compareRoots();
      return null;
    } catch (error) {
      if (error instanceof Stop) return error.difference;
      throw error;
    }
  }

  #step(): void {
    const prng = this.#picker.prng;
    this.#clock.moveTo(nextWall(prng, this.#clock, this.#model.state));
    this.#pulse();
    const request = makeRequest(this.#picker, this.#scenario, this.#clock.base());
    this.#request(request);
    // Most of these are refused and cost nothing; the rest are requests like any other.
    if (prng.chance(1, 3)) this.#request(malformed(prng, request));
    this.#pause();
  }

  /** What is due is mostly done before the next request, but requests may get ahead of it. */
  #pulse(): void {
    for (;;) {
      const base = this.#clock.base();
      const beside = this.#model.state.expiryMin() ?? base;
      for (const time of [base, beside, beside - 1n]) this.#compareDue(time);
      if (!this.#model.due(base)) return;
      if (this.#picker.percent(30)) {
        this.histogram.count('request ahead of a pulse');
        return;
      }
      const expired = this.#model.state.events.length;
      this.#apply({ operation: PULSE, body: new Uint8Array(0) });
      this.histogram.count('pulse');
      this.histogram.count('expiry', this.#model.state.events.length - expired);
      if (this.#model.due(base)) this.histogram.count('pulse that left something due');
    }
  }

  #request(request: Request): void {
    const { operation, body } = request;
    const { bodySizeMax } = this.#scenario;
    const verdict = this.#model.validate(operation, body, bodySizeMax);
    const actual = this.#guard(request, () => this.#driver.validate(request, bodySizeMax));
    this.histogram.count(`request ${verdict}`);
    this.#check('validity', request, verdict, actual);
    if (verdict !== 'valid') return;
    const isCreate =
      operation === Operation.createAccounts || operation === Operation.createTransfers;
    if (!isCreate && this.#chance.chance(1, 2)) this.#query(request);
    const reply = this.#apply(request);
    if (isCreate) this.events += this.histogram.countResults(operation, reply);
    else if (reply.length > 128) this.histogram.count('read with results');
  }

  /** A read outside the log. */
  #query(request: Request): void {
    const expected = this.#model.query(request.operation, request.body);
    const actual = this.#guard(request, () => this.#driver.query(request, expected.length));
    this.#compareReplies('query', request, expected, actual);
  }

  #apply(request: Request): Uint8Array {
    const reserved = this.#model.reserve(request.operation, request.body);
    const actual = this.#guard(request, () => this.#driver.reserve(request));
    this.#check('reserve', request, `${reserved}`, `${actual}`);
    this.op += 1;
    this.#timestamp = this.#clock.take(reserved);
    const { op } = this;
    const timestamp = this.#timestamp;
    const expected = this.#model.apply(op, timestamp, request.operation, request.body);
    const applied: Applied = { op, timestamp, request, reply: expected };
    const reply = this.#guard(request, () => this.#driver.apply(applied));
    this.#compareReplies('reply', request, expected, reply);
    return expected;
  }

  /** Between requests: roots, checkpoints and restarts, more rarely as the content grows. */
  #pause(): void {
    const next = (rarity: number): number =>
      this.events + this.#chance.between(1, rarity + Math.floor(this.events / 10));
    if (this.events >= this.#rootAt) {
      this.#compareRoots();
      this.#rootAt = next(1500);
    }
    if (this.#options.restarts === false) return;
    if (this.#driver.isCutting) {
      this.#slice();
    } else if (this.events >= this.#checkpointAt) {
      const root = toHex(this.#model.root(this.#options.checksum));
      this.#guard(null, () => this.#driver.cut(this.op, this.#model, root));
      this.#slice();
      this.#checkpointAt = next(1200);
    } else if (this.#chance.chance(1, 2)) {
      const isAhead = this.#guard(null, () => this.#driver.sliceAhead());
      if (isAhead) this.histogram.count('block ahead of its checkpoint');
    }
    if (this.events >= this.#restartAt) {
      this.#restart();
      this.#restartAt = next(1600);
    }
  }

  /** Some blocks of the checkpoint, while the ledger goes on. */
  #slice(): void {
    const count = this.#chance.chance(1, 2) ? 100 : this.#chance.below(9);
    const problem = this.#guard(null, () => this.#driver.slice(count));
    if (!this.#driver.isCutting) this.histogram.count('checkpoint');
    this.#check('checkpoint', null, 'blocks as in the model', problem ?? 'blocks as in the model');
  }

  #restart(): void {
    const problem = this.#guard(null, () => this.#driver.restart());
    this.histogram.count('restart');
    this.#check('replay', null, 'the same replies', problem ?? 'the same replies');
    this.#compareRoots();
    this.#compareDue(this.#clock.base());
  }

  #compareRoots(): void {
    const actual = this.#guard(null, () => toHex(this.#driver.root()));
    this.histogram.count('root');
    this.#check('root', null, toHex(this.#model.root(this.#options.checksum)), actual);
  }

  #compareDue(timestamp: bigint): void {
    if (timestamp <= 0n) return;
    const expected = this.#model.due(timestamp);
    const actual = this.#guard(null, () => this.#driver.due(u64FromBigInt(timestamp)));
    this.#check('due', null, `${expected} at ${timestamp}`, `${actual} at ${timestamp}`);
  }

  #compareReplies(what: string, request: Request, expected: Uint8Array, actual: Uint8Array): void {
    const { length } = expected;
    if (length === actual.length && bytesEqual(expected, 0, actual, 0, length)) return;
    const told = describeReplies(request, expected, actual);
    throw new Stop(this.#difference(what, request, told.expected, told.actual));
  }

  /** What the machine throws is a difference as well. */
  #guard<T>(request: Request | null, call: () => T): T {
    try {
      return call();
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : `${error}`;
      throw new Stop(this.#difference('exception', request, 'no exception', text));
    }
  }

  #check(what: string, request: Request | null, expected: string, actual: string): void {
    if (expected !== actual) throw new Stop(this.#difference(what, request, expected, actual));
  }

  #difference(what: string, request: Request | null, expected: string, actual: string): Difference {
    const { seed } = this.#options;
    const { events: eventIndex, op } = this;
    return { seed, eventIndex, op, what, request, timestamp: this.#timestamp, expected, actual };
  }
}
