/**
 * Every entry that any member of a Raft cluster ever told another, or had in its file: by index and
 * term, since two entries with both alike must be one and the same, and so must all before them.
 */
import type { Entry } from '../../raft/index.ts';
import { HEADER_SIZE } from '../../wire/index.ts';
import { EventHash } from '../world/event-hash.ts';
import { check } from '../world/failure.ts';

export interface SeenEntry {
  readonly index: number;
  readonly term: number;
  readonly kind: Entry<Uint8Array>['kind'];
  /** Of all that it says. */
  readonly fingerprint: string;
  /** What a client or the leader wants done: header and body of a prepare; `null`: nothing. */
  readonly data: Uint8Array | null;
  /** Term of the entry before it; `null`: nobody has told yet. */
  prevTerm: number | null;
}

export class SeenLog {
  readonly #entries: Map<number, Map<number, SeenEntry>> = new Map();

  get(index: number, term: number): SeenEntry | null {
    return this.#entries.get(index)?.get(term) ?? null;
  }

  /** `prevTerm`: of the entry before, as told with it; `null`: not told. */
  add(entry: Entry<Uint8Array>, prevTerm: number | null, what: () => string): SeenEntry {
    const { index, term, kind } = entry;
    const terms = this.#entries.get(index) ?? new Map<number, SeenEntry>();
    this.#entries.set(index, terms);
    const fingerprint = fingerprintOf(entry);
    let known = terms.get(term);
    if (known === undefined) {
      const data = entry.kind === 'data' ? entry.data.slice() : null;
      const isWhole = data === null || data.length >= HEADER_SIZE;
      check(isWhole, 'fork', () => `${what()}: entry ${index} is no prepare`);
      known = { index, term, kind, fingerprint, data, prevTerm };
      terms.set(term, known);
    }
    check(known.fingerprint === fingerprint, 'fork', () => {
      return `${what()}: entry ${index} of term ${term} is ${fingerprint}, not ${known.fingerprint}`;
    });
    known.prevTerm ??= prevTerm;
    check(prevTerm === null || known.prevTerm === prevTerm, 'fork', () => {
      return `${what()}: before entry ${index} of term ${term} is term ${prevTerm}, not ${known.prevTerm}`;
    });
    return known;
  }
}

function fingerprintOf(entry: Entry<Uint8Array>): string {
  const hash = new EventHash();
  hash.text(entry.kind);
  switch (entry.kind) {
    case 'noop':
      break;
    case 'data':
      hash.text(entry.eid);
      hash.bytes(entry.data);
      break;
    case 'config':
      for (const [id, address] of entry.servers) hash.text(`${id} ${address}`);
      break;
    case 'timer':
      hash.integer(entry.electionTimerMs);
      break;
  }
  return hash.digest();
}
