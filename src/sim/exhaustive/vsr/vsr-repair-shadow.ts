/**
 * What repair keeps to itself: whom it has asked for what, how fast it takes each replica to be,
 * and what has come that it could not believe.
 */
import type { TraceValue } from '../../../engine/index.ts';
import type { Parts } from '../../../vsr/index.ts';
import { HEADER_SIZE, readView } from '../../../wire/index.ts';
import { before } from './vsr-listen.ts';
import { opOf } from './vsr-text.ts';

/** As repair takes it to be before it has asked anything. */
const LATENCY_NS = 1_000_000;

export class VsrRepairShadow {
  readonly #parts: Parts;
  /** Operation → replicas that were asked for it, and when. */
  readonly #asked: Map<number, Map<number, number>> = new Map();
  readonly #latencyNs: Map<number, number> = new Map();
  #lastAsked: number = 0;
  /** Lowest operation of the headers that were asked for last; −1: they may be asked for again. */
  #headersLow: number = -1;
  readonly #refused: Set<number> = new Set();
  #olderHigh: number = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { repair, outbox } = parts;
    before(repair, 'reset', () => {
      this.#headersLow = -1;
      this.#refused.clear();
      this.#olderHigh = 0;
    });
    before(repair, 'onPeerDown', (replica) => this.#forget(replica));
    before(repair, 'onPrepare', (_, message) => this.#onPrepare(message.bytes));
    before(outbox, 'trace', (_, event, fields) => this.#onTrace(event, fields));
  }

  /** Headers from this operation on are asked for. */
  onHeadersAsked(low: number): void {
    this.#headersLow = low;
  }

  text(): string {
    const asked = [...this.#asked].map(([op, replicas]) => `${op}:${numbersText(replicas)}`);
    const refused = [...this.#refused].sort((a, b) => a - b).join();
    const rest = `${this.#lastAsked} ${this.#headersLow} ${this.#olderHigh} ${refused}`;
    return `${asked.sort(byText).join(' ')};${numbersText(this.#latencyNs)};${rest}`;
  }

  #onTrace(event: string, fields: { readonly [name: string]: TraceValue }): void {
    const op = Number(fields['op']);
    if (event === 'repair-header' && op <= this.#headersLow) this.#headersLow = -1;
    if (event !== 'repair-asked') return;
    const replica = Number(fields['replica']);
    const replicas = this.#asked.get(op) ?? new Map<number, number>();
    replicas.set(replica, this.#nowNs);
    this.#asked.set(op, replicas);
    this.#lastAsked = replica;
  }

  #onPrepare(bytes: Uint8Array): void {
    const { log, member, state, viewChange } = this.#parts;
    const op = opOf(bytes);
    for (const [replica, sinceNs] of this.#asked.get(op) ?? []) {
      const latencyNs = this.#latencyNs.get(replica) ?? LATENCY_NS;
      this.#latencyNs.set(replica, (4 * latencyNs + this.#nowNs - sinceNs) / 5);
    }
    this.#asked.delete(op);
    const isActive = member.isNormal || viewChange.isRepairing;
    if (!isActive || op > log.head) return;
    const isKnown = log.has(op, bytes, 0);
    if (op <= state.commitMin && !(isKnown && log.isClean(op))) return;
    const isFine = isKnown ? log.isCanonical(op) : log.accepts(bytes.subarray(0, HEADER_SIZE));
    if (isFine) return;
    this.#refused.add(op);
    if (readView(bytes) < member.logView) this.#olderHigh = Math.max(this.#olderHigh, op);
  }

  #forget(replica: number): void {
    this.#latencyNs.delete(replica);
    for (const [op, replicas] of this.#asked) {
      replicas.delete(replica);
      if (replicas.size === 0) this.#asked.delete(op);
    }
  }

  get #nowNs(): number {
    return this.#parts.outbox.now.monoNs;
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function numbersText(numbers: ReadonlyMap<number, number>): string {
  const pairs = [...numbers].sort((a, b) => a[0] - b[0]);
  return pairs.map(([key, value]) => `${key}@${value}`).join();
}
