/**
 * The subjects that this project has: the ledger under its naive model, the key-value store and the
 * counter under their twins. Each comes with a workload made for it; the key-value store has two:
 * one with lifetimes, one of compare-and-set on few keys.
 */
import {
  COUNTER_ADD,
  COUNTER_READ,
  CounterMachine,
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  keyValueBody,
  keyValueCasBody,
} from '../../engine/index.ts';
import { Ledger } from '../../ledger/index.ts';
import { type Prng, u64ToBigInt, writeU32 } from '../../stdx/index.ts';
import { createChecksum, EvictionReason } from '../../wire/index.ts';
import { ModelMachine } from '../ledger-model/index.ts';
import { makeRequest, malformed, Picker, type Scenario } from '../ledger-workload/index.ts';
import type { Demand, InvalidDemand, Subject, SubjectFactory, WorkloadOptions } from './subject.ts';
import { casTestimony, counterTestimony, keyValueTestimony } from './testimonies.ts';
import { CounterTwin, KeyValueTwin } from './twins.ts';

const NOTHING = new Uint8Array(0);
const checksum = createChecksum();

export function counterSubject(): Subject {
  return {
    reference: new CounterTwin(),
    machine: () => new CounterMachine(),
    testimony: counterTestimony,
    workload: ({ prng, bodySizeMax }) => ({
      next: () => {
        if (prng.chance(1, 5)) return { operation: COUNTER_READ, body: NOTHING };
        return { operation: COUNTER_ADD, body: amount(prng) };
      },
      invalid: () => {
        const bad = { operation: COUNTER_ADD, body: new Uint8Array(prng.between(5, 64)) };
        return pickInvalid(prng, bad, bodySizeMax);
      },
    }),
  };
}

export function keyValueSubject(): Subject {
  return {
    reference: new KeyValueTwin(checksum),
    machine: () => new KeyValueMachine(checksum),
    testimony: keyValueTestimony,
    workload: ({ prng, bodySizeMax }) => ({
      next: () => {
        const key = `key ${prng.below(40)}`;
        const choice = prng.below(10);
        if (choice < 2) return { operation: KEY_VALUE_GET, body: keyValueBody(key) };
        if (choice < 3) return { operation: KEY_VALUE_DELETE, body: keyValueBody(key) };
        const value = new Uint8Array(prng.chance(1, 10) ? prng.below(bodySizeMax - 32) : 12);
        prng.fill(value);
        // Some die during the run, some only after its last restart, some never.
        const lifetimeMs = prng.pick([0, 0, prng.between(1, 300), prng.between(600, 1300)]);
        return { operation: KEY_VALUE_PUT, body: keyValueBody(key, value, lifetimeMs) };
      },
      invalid: () => {
        const body = keyValueBody('key', new Uint8Array(4)).subarray(0, prng.below(15));
        return pickInvalid(prng, { operation: KEY_VALUE_PUT, body }, bodySizeMax);
      },
    }),
  };
}

/** Few keys that many want, so that what one client expects is often what another has changed. */
export function casSubject(): Subject {
  const reference = new KeyValueTwin(checksum);
  return {
    reference,
    machine: () => new KeyValueMachine(checksum),
    testimony: casTestimony,
    workload: ({ prng, bodySizeMax }) => ({
      next: () => {
        const key = `key ${prng.below(5)}`;
        const choice = prng.below(10);
        if (choice < 2) return { operation: KEY_VALUE_GET, body: keyValueBody(key) };
        if (choice < 3) return { operation: KEY_VALUE_DELETE, body: keyValueBody(key) };
        const value = new Uint8Array(12);
        prng.fill(value);
        if (choice < 4) return { operation: KEY_VALUE_PUT, body: keyValueBody(key, value) };
        // As of what has been executed, which may be another value by the time it matters.
        const held = reference.valueOf(key);
        const expected = prng.pick([held, held, held, null, new Uint8Array(12)]);
        return { operation: KEY_VALUE_CAS, body: keyValueCasBody(key, expected, value) };
      },
      invalid: () => {
        const whole = keyValueCasBody('key', null, new Uint8Array(4));
        const body = whole.subarray(0, prng.below(whole.length));
        return pickInvalid(prng, { operation: KEY_VALUE_CAS, body }, bodySizeMax);
      },
    }),
  };
}

export function ledgerSubject(): Subject {
  const reference = new ModelMachine(checksum);
  return {
    reference,
    machine: () => new Ledger({ checksum }),
    workload: ({ prng, bodySizeMax, wall }: WorkloadOptions) => {
      const picker = new Picker(prng, reference.model.state);
      const scenario: Scenario = { kind: 'ordinary', bodySizeMax, wallStart: 0n };
      const validity = ({ operation, body }: Demand): string =>
        reference.validate(operation, body, bodySizeMax);
      const request = (): Demand => makeRequest(picker, scenario, u64ToBigInt(wall()));
      return {
        next: () => {
          for (;;) {
            const made = request();
            if (made.body.length <= bodySizeMax && validity(made) === 'valid') return made;
          }
        },
        invalid: () => {
          for (;;) {
            const made = malformed(prng, request());
            const isFit = made.operation >= 128 && made.body.length <= bodySizeMax;
            if (!isFit || validity(made) === 'valid') continue;
            const isBody = validity(made) === 'invalid-body';
            const { invalidRequestBody, invalidRequestOperation } = EvictionReason;
            return { ...made, reason: isBody ? invalidRequestBody : invalidRequestOperation };
          }
        },
      };
    },
  };
}

export const subjects: { readonly [name: string]: SubjectFactory } = {
  ledger: ledgerSubject,
  'key-value': keyValueSubject,
  cas: casSubject,
  counter: counterSubject,
};

/** A bad body, an unknown operation or a body above the limit. */
function pickInvalid(prng: Prng, bad: Demand, bodySizeMax: number): InvalidDemand {
  switch (prng.below(3)) {
    case 0:
      return { ...bad, reason: EvictionReason.invalidRequestBody };
    case 1:
      return { ...bad, operation: 255, reason: EvictionReason.invalidRequestOperation };
    default: {
      const body = new Uint8Array(bodySizeMax + prng.between(1, 4096));
      return { ...bad, body, reason: EvictionReason.invalidRequestBodySize };
    }
  }
}

function amount(prng: Prng): Uint8Array {
  const body = new Uint8Array(4);
  writeU32(body, 0, prng.u32());
  return body;
}
