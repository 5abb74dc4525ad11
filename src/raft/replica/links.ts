/**
 * The other replicas: whether they are connected, and whether they are who they were. Raft counts
 * sessions by name; here each peer has one, or none.
 *
 * Whoever comes back under the same index with another file has forgotten what it once promised:
 * it is not heard, and told nothing.
 */
import { assert, bytesEqual, isZero, toHex } from '../../stdx/index.ts';
import type { ReplicaParts } from './parts.ts';

interface Peer {
  isUp: boolean;
  isStranger: boolean;
  /** Of its data file, as first met in this life; zero: never. */
  readonly id: Uint8Array;
}

export class Links {
  readonly #parts: ReplicaParts;
  readonly #peers: readonly Peer[];

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
    this.#peers = Array.from({ length: parts.head.replicaCount }, () => ({
      isUp: false,
      isStranger: false,
      id: new Uint8Array(16),
    }));
  }

  isUp(replica: number): boolean {
    return this.#peers[replica].isUp;
  }

  isStranger(replica: number): boolean {
    return this.#peers[replica].isStranger;
  }

  /** Indexes of connected replicas, ascending. */
  get up(): readonly number[] {
    return [...this.#peers.keys()].filter((replica) => this.isUp(replica));
  }

  get strangers(): readonly number[] {
    return [...this.#peers.keys()].filter((replica) => this.isStranger(replica));
  }

  onUp(replica: number, replicaId: Uint8Array): void {
    const { head, core, outbox } = this.#parts;
    assert(replica !== head.replica && replica < this.#peers.length, 'Links: not a peer');
    const peer = this.#peers[replica];
    // A link that was made anew: what was under way on the one before is lost.
    if (peer.isUp) this.#lose(replica);
    const isMet = !isZero(peer.id, 0, 16);
    peer.isStranger = isMet && !bytesEqual(peer.id, 0, replicaId, 0, 16);
    if (peer.isStranger) {
      const fields = { engine: 'raft', replica, replicaId: toHex(replicaId) };
      outbox.trace('error', 'replica-replaced', fields);
      return;
    }
    peer.id.set(replicaId);
    peer.isUp = true;
    const name = String(replica);
    core.push({ type: 'connected', peer: name, address: name, isDialled: false });
  }

  /** Whoever was there is not there now. */
  onDown(replica: number): void {
    if (this.#peers[replica].isUp) this.#lose(replica);
    this.#parts.core.push({ type: 'refused', peer: String(replica) });
  }

  #lose(replica: number): void {
    const { core, dialect } = this.#parts;
    this.#peers[replica].isUp = false;
    dialect.onPeerDown(replica);
    core.push({ type: 'disconnected', peer: String(replica) });
  }
}
