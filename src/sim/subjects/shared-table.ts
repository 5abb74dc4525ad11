/**
 * What machines must answer whatever replicates them: one table for every engine, simulated or on
 * real sockets and disks. Commands and answers are text; a case knows how both look as bytes.
 *
 * In the simulator {@link sharedSubject} asks for the rows one after another, with one client, and
 * fails the run at an answer that differs. Elsewhere {@link sharedCases} are walked by hand.
 */
import type { Machine } from '../../engine/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { Testimony } from '../checks/testimony.ts';
import { counterCase } from './shared-counter.ts';
import { keyValueCase } from './shared-key-value.ts';
import { ledgerCase } from './shared-ledger.ts';
import type { Demand, Subject } from './subject.ts';
import { casSubject, counterSubject, ledgerSubject } from './subjects.ts';

/** A machine and what it must answer. */
export interface SharedCase {
  readonly name: string;
  /** Command and answer, in this order, on a machine that has applied nothing. */
  readonly rows: readonly (readonly [command: string, answer: string])[];
  /** A command that changes nothing. */
  readonly look: string;
  machine(checksum: Checksum): Machine;
  demand(command: string): Demand;
  answer(operation: number, reply: Uint8Array): string;
}

export const sharedCases: readonly SharedCase[] = [counterCase, keyValueCase, ledgerCase];

const subjectOf: { readonly [name: string]: () => Subject } = {
  counter: counterSubject,
  'key-value': casSubject,
  ledger: ledgerSubject,
};

/** For runs with one client that gives nothing up; `requests`: as many as there are rows. */
export function sharedSubject(shared: SharedCase): Subject {
  const base = subjectOf[shared.name]!();
  let next = 0;
  return {
    ...base,
    testimony: () => new SharedTestimony(shared),
    workload: (options) => ({
      ...base.workload(options),
      next: () => shared.demand(shared.rows[next++]?.[0] ?? shared.look),
    }),
  };
}

/** Compares each answer with the row's. */
class SharedTestimony implements Testimony {
  readonly #shared: SharedCase;
  #asked: number = 0;
  #answered: number = 0;
  #problem: string | null = null;

  constructor(shared: SharedCase) {
    this.#shared = shared;
  }

  onRequest(): void {
    this.#asked += 1;
  }

  onReply(_client: string, operation: number, reply: Uint8Array): void {
    const row = this.#shared.rows[this.#asked - 1];
    this.#answered += 1;
    if (row === undefined) return;
    const [command, wanted] = row;
    const answer = this.#shared.answer(operation, reply);
    if (answer !== wanted) this.#problem ??= `${command}: ${answer}, not ${wanted}`;
  }

  onAbandon(): void {
    this.#problem ??= 'a request was given up: what comes after it proves nothing';
  }

  problem(): { readonly text: string } | null {
    const { rows } = this.#shared;
    if (this.#problem === null && this.#answered < rows.length) {
      return { text: `only ${this.#answered} of ${rows.length} rows were answered` };
    }
    return this.#problem === null ? null : { text: this.#problem };
  }
}
