/**
 * The shared table of the key-value store: `get`, `put`, `delete` and `cas KEY EXPECTED VALUE`,
 * where `-` expects that the key is not there. Answers are a status and, where there is one, a
 * value.
 */
import {
  KEY_VALUE_CAS,
  KEY_VALUE_DELETE,
  KEY_VALUE_GET,
  KEY_VALUE_PUT,
  KeyValueMachine,
  KeyValueStatus,
  keyValueBody,
  keyValueCasBody,
} from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';
import type { SharedCase } from './shared-table.ts';
import type { Demand } from './subject.ts';

export const keyValueCase: SharedCase = {
  name: 'key-value',
  rows: [
    ['get a', 'missing'],
    ['delete a', 'missing'],
    ['put a 1', 'ok'],
    ['get a', 'ok 1'],
    ['put a 2', 'ok'],
    ['get a', 'ok 2'],
    // Compare and set: with the right value, the wrong one, and none.
    ['cas a 2 3', 'ok'],
    ['cas a 2 4', 'unequal 3'],
    ['get a', 'ok 3'],
    ['cas a - 4', 'unequal 3'],
    ['cas b 3 4', 'missing'],
    ['get b', 'missing'],
    ['cas b - 4', 'ok'],
    ['cas b - 5', 'unequal 4'],
    ['get b', 'ok 4'],
    ['delete b', 'ok'],
    ['cas b 4 5', 'missing'],
    ['cas b - 6', 'ok'],
    // A lock that one of two gets.
    ['cas lock - one', 'ok'],
    ['cas lock - two', 'unequal one'],
    ['delete lock', 'ok'],
    ['cas lock - two', 'ok'],
    ['get lock', 'ok two'],
  ],
  look: 'get a',
  machine: (checksum) => new KeyValueMachine(checksum),
  demand: (command): Demand => {
    const [verb, key = '', first = '', second = ''] = command.split(' ');
    switch (verb) {
      case 'get':
        return { operation: KEY_VALUE_GET, body: keyValueBody(key) };
      case 'put':
        return { operation: KEY_VALUE_PUT, body: keyValueBody(key, bytesOf(first)) };
      case 'delete':
        return { operation: KEY_VALUE_DELETE, body: keyValueBody(key) };
      default: {
        assert(verb === 'cas', 'keyValueCase: get, put, delete or cas');
        const expected = first === '-' ? null : bytesOf(first);
        return { operation: KEY_VALUE_CAS, body: keyValueCasBody(key, expected, bytesOf(second)) };
      }
    }
  },
  answer: (_, reply) => {
    const status = Object.entries(KeyValueStatus).find(([, code]) => code === reply[0]);
    const value = String.fromCharCode(...reply.subarray(1));
    return `${status?.[0] ?? reply[0]} ${value}`.trimEnd();
  },
};

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
