/**
 * A machine made a subject of simulation: probed copies of it for replicas, one as the reference,
 * and a workload that sees the reference's state.
 */
import { assert, type Prng } from '../../stdx/index.ts';
import { requestFingerprint } from '../checks/history.ts';
import { ClientTestimony, type Testimony } from '../checks/testimony.ts';
import type { Demand, Subject, Workload, WorkloadOptions } from '../subjects/subject.ts';
import type { Adapter } from './adapter.ts';
import { Book } from './book.ts';
import { MachineFailure } from './machine-failure.ts';
import type { SimulateOptions } from './options.ts';
import { OutsideWorld } from './outside-world.ts';
import { ProbedMachine } from './probed-machine.ts';
import { Story } from './story.ts';
import { show } from './text.ts';
import type { TrialParts } from './trial-parts.ts';

/** Commands of one request at most. */
const PACKED_MAX = 4;

export class Trial<S, C, O, Q> {
  readonly parts: TrialParts<S, C, O, Q>;
  readonly #options: SimulateOptions<S, C, O, Q>;
  readonly #lives: Map<number, number> = new Map();
  /** The commands of each request, by fingerprint. */
  readonly #commands: Map<string, readonly C[]> = new Map();

  constructor(
    adapter: Adapter<S, C, O, Q>,
    options: SimulateOptions<S, C, O, Q>,
    run: { readonly seed: number; readonly replicas: number },
  ) {
    const { check = {}, questions } = options;
    this.#options = options;
    const describe = (operation: number, reply: Uint8Array): string => {
      return adapter.describe(operation, reply);
    };
    this.parts = {
      ...run,
      adapter,
      book: new Book(),
      story: new Story(this.#testimony(adapter), describe),
      outside: new OutsideWorld(),
      forbidsOutside: check.outsideWorld ?? true,
      isCompared: check.reference ?? true,
      invariant: check.invariant ?? null,
      questions: questions ?? null,
      hasValues: adapter.canPack,
    };
  }

  subject(): Subject {
    const reference = new ProbedMachine(this.parts, null, 1);
    return {
      reference,
      machine: (replica) => {
        assert(replica !== undefined, 'Trial: whose machine is it');
        const life = (this.#lives.get(replica) ?? 0) + 1;
        this.#lives.set(replica, life);
        return new ProbedMachine(this.parts, replica, life);
      },
      workload: (workload) => this.#workload(workload, reference),
      testimony: () => this.parts.story,
    };
  }

  #workload(
    { prng, bodySizeMax }: WorkloadOptions,
    reference: ProbedMachine<S, C, O, Q>,
  ): Workload {
    return {
      next: () => {
        const commands = this.#drawCommands(prng, reference);
        const demand = this.#fit(commands, bodySizeMax);
        return demand;
      },
      invalid: () => assert(false, 'Trial: nothing invalid is asked for') as never,
    };
  }

  #drawCommands(prng: Prng, reference: ProbedMachine<S, C, O, Q>): readonly C[] {
    const { workload, check } = this.#options;
    const { adapter } = this.parts;
    const isPacked = adapter.canPack && check?.linearizable === undefined;
    const count = isPacked ? prng.between(1, PACKED_MAX) : 1;
    const before = rootOf(reference);
    const commands = Array.from({ length: count }, () => workload(prng, reference.state));
    if (rootOf(reference) === before) return commands;
    const place = { replica: null, life: 1, op: null };
    const text = `the workload changed the state when it made ${show(commands)}`;
    throw new MachineFailure('workload-mutates', place, text);
  }

  /** As many of the commands as a request has room for. */
  #fit(commands: readonly C[], bodySizeMax: number): Demand {
    const { adapter, story } = this.parts;
    for (let count = commands.length; count > 0; count--) {
      const fitting = commands.slice(0, count);
      const demand = adapter.request(fitting);
      if (demand.body.length > bodySizeMax) continue;
      story.learn(demand, this.#textOf(fitting, demand));
      this.#commands.set(requestFingerprint(demand.operation, demand.body), fitting);
      return demand;
    }
    throw new RangeError(
      `the command ${show(commands[0])} does not fit into a request, ` +
        `which has room for ${bodySizeMax} bytes`,
    );
  }

  #textOf(commands: readonly C[], { operation, body }: Demand): string {
    if (this.parts.adapter.canPack) return commands.map(show).join(', ');
    return `operation ${operation}, ${body.length} bytes`;
  }

  #testimony(adapter: Adapter<S, C, O, Q>): Testimony | null {
    const check = this.#options.check?.linearizable;
    if (check === undefined) return null;
    const { model, input, output } = check;
    return new ClientTestimony<unknown, unknown, unknown>({
      model,
      input: (operation, body) => {
        const command = this.#commands.get(requestFingerprint(operation, body))?.[0];
        assert(command !== undefined, 'Trial: a request that the workload has not made');
        return input === undefined ? command : input(command);
      },
      output: (operation, reply) => {
        const outcome = adapter.outcomes(operation, reply)?.[0];
        assert(outcome !== undefined, 'Trial: a reply without an outcome');
        return output === undefined ? adapter.plain(outcome) : output(outcome);
      },
    });
  }
}

function rootOf(machine: { root(): Uint8Array }): string {
  return machine.root().join(' ');
}
