/**
 * The other replicas: whether they are connected, whether they are who they were, what they say of
 * their progress, and, through pings, what their clocks say.
 *
 * A data file has an id of its own, made when it was formatted. Whoever comes back under the same
 * index with another id has forgotten what it once acknowledged: nothing is taken from it and
 * nothing told to it, lest it become the primary of what it does not know, unless it was made anew
 * by `recover`, which the id itself tells, and later than the one that we know. An id that was met
 * for the first time counts as soon as it is durable here.
 */
import { assert, bytesEqual, isZero, readU64, toHex, type U64 } from '../stdx/index.ts';
import { Command, type Message, PeerOffset, readView } from '../wire/index.ts';
import { recoveredViewOf } from './file/format.ts';
import type { Parts } from './parts.ts';
import { buildPeerMessage, peerBits, peerNumber } from './peer-message.ts';
import { traceClocks } from './timing/clock-news.ts';
import { ClockSync } from './timing/clock-sync.ts';
import { DEAF_NS, LAGGING_NS } from './timing/intervals.ts';

interface Peer {
  isUp: boolean;
  /** It was connected once and is not any more, or its machine refuses connections. */
  isDown: boolean;
  /** Under the same index as one that we knew, with another file. */
  isStranger: boolean;
  /** It has said that its disk is full. */
  isFull: boolean;
  readonly id: Uint8Array;
  /** What it has executed, as last heard. */
  commitMin: number;
  /** Operations that it had executed less than we when it was last heard of. */
  lag: number;
  /** When it was last heard, monotonic. */
  heardNs: number;
}

/** Among the bits of pings and pongs: the author's disk is full. */
const FULL = 1;
/** A machine that was asleep says nothing about the network. */
const ROUND_TRIP_MAX_NS = 500_000_000;

export class Peers {
  readonly clock: ClockSync;
  readonly #parts: Parts;
  readonly #peers: readonly Peer[];
  #roundTripNs: number = 0;
  #roundTripVarNs: number = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { replicaCount, replica, quorums } = parts.member;
    this.clock = new ClockSync({ replicaCount, replica, quorum: quorums.replication });
    this.#peers = Array.from({ length: replicaCount }, () => ({
      isUp: false,
      isDown: false,
      isStranger: false,
      isFull: false,
      id: new Uint8Array(16),
      commitMin: 0,
      lag: 0,
      heardNs: 0,
    }));
  }

  isUp(replica: number): boolean {
    return this.#peers[replica].isUp;
  }

  /** Known to be gone; nothing is known of who was never met. */
  isDown(replica: number): boolean {
    return this.#peers[replica].isDown;
  }

  /** Connected replicas: bit i ↔ replica i. */
  get upMask(): number {
    let mask = 0;
    for (let i = 0; i < this.#peers.length; i++) if (this.#peers[i].isUp) mask |= 1 << i;
    return mask;
  }

  get upCount(): number {
    return this.#peers.filter(({ isUp }) => isUp).length;
  }

  /** Another file than the one that we know under this index. */
  isStranger(replica: number): boolean {
    return this.#peers[replica].isStranger;
  }

  /** Its disk is full, as last heard. */
  isFull(replica: number): boolean {
    return this.#peers[replica].isFull;
  }

  /** Whether acknowledgements and votes of this replica count. */
  isTrusted(replica: number): boolean {
    const { members } = this.#parts.superblock.current;
    const { id, isStranger } = this.#peers[replica];
    return !isStranger && bytesEqual(members, replica * 16, id, 0, 16);
  }

  onUp(replica: number, replicaId: Uint8Array): void {
    const { member, superblock, outbox, topology } = this.#parts;
    assert(replica !== member.replica && replica < this.#peers.length, 'Peers: not a peer');
    const peer = this.#peers[replica];
    peer.id.set(replicaId);
    const members = superblock.newest.members;
    const isKnown = bytesEqual(members, replica * 16, replicaId, 0, 16);
    const isMet = !isZero(members, replica * 16, 16);
    const isLater = recoveredViewOf(replicaId) > recoveredViewOf(members, replica * 16);
    peer.isStranger = isMet && !isKnown && !isLater;
    peer.isUp = !peer.isStranger;
    peer.heardNs = outbox.now.monoNs;
    peer.lag = this.#parts.state.commitMin - peer.commitMin;
    peer.isDown = peer.isStranger;
    if (peer.isStranger) {
      outbox.trace('error', 'replica-replaced', { replica, replicaId: toHex(replicaId) });
      return;
    }
    if (!isKnown) {
      const changed = members.slice();
      changed.set(replicaId, replica * 16);
      superblock.update({ members: changed });
    }
    this.#ping(replica, topology.route);
  }

  onDown(replica: number): void {
    const peer = this.#peers[replica];
    peer.isUp = false;
    peer.isDown = true;
    peer.isFull = false;
  }

  /** Its progress, from whatever message. */
  heardOf(replica: number, commitMin: number): void {
    const peer = this.#peers[replica];
    peer.commitMin = Math.max(peer.commitMin, commitMin);
    peer.lag = this.#parts.state.commitMin - peer.commitMin;
  }

  /** What the best replicas, as many as a view change needs, have all executed; ours among them. */
  commitMinOfQuorum(): number {
    const { member, state } = this.#parts;
    const all = this.#peers.map(({ commitMin }, replica) =>
      replica === member.replica ? state.commitMin : commitMin,
    );
    all.sort((a, b) => b - a);
    return all[member.quorums.viewChange - 1];
  }

  /**
   * Somebody lags by more than half of the log, and was there not long ago: it will come back, or
   * is on its way. What backups say of each other is old, so what counts is how it was then.
   */
  isAnyLagging(): boolean {
    const { member, state, geometry, outbox } = this.#parts;
    const nowNs = outbox.now.monoNs;
    return this.#peers.some(({ isUp, heardNs, commitMin, lag }, replica) => {
      if (replica === member.replica || heardNs === 0 || heardNs + LAGGING_NS < nowNs) return false;
      const isTalking = isUp && heardNs + DEAF_NS >= nowNs;
      return (isTalking ? lag : state.commitMin - commitMin) > geometry.slots / 2;
    });
  }

  /** The cluster's time; `null` while clocks are not known to agree. */
  realtime(): U64 | null {
    const { now } = this.#parts.outbox;
    this.#tickClock();
    return this.clock.realtime(now);
  }

  /** Takes over one reference and sends the message to every replica that is connected. */
  broadcast(message: Message): void {
    const { pool, outbox } = this.#parts;
    for (let replica = 0; replica < this.#peers.length; replica++) {
      if (!this.#peers[replica].isUp) continue;
      pool.retain(message);
      outbox.sendPeer(replica, message);
    }
    pool.release(message);
  }

  /** Takes over one reference. */
  send(replica: number, message: Message): void {
    const { pool, outbox } = this.#parts;
    if (this.#peers[replica].isUp) outbox.sendPeer(replica, message);
    else pool.release(message);
  }

  onPingDeadline(): void {
    const { deadlines, outbox, topology } = this.#parts;
    const { now } = outbox;
    this.#tickClock();
    deadlines.set('ping', now.monoNs + this.clock.pingIntervalNs);
    topology.onPing();
    for (let replica = 0; replica < this.#peers.length; replica++) {
      if (this.#peers[replica].isUp) this.#ping(replica, topology.route);
    }
  }

  onPing(from: number, bytes: Uint8Array): void {
    const { state, superblock, outbox, pool, member, topology } = this.#parts;
    this.#learn(from, bytes);
    const pong = pool.acquire('small');
    if (pong !== null) {
      const fields = {
        commitMin: state.commitMin,
        checkpointOp: superblock.current.checkpoint.op,
        monotonic: peerNumber(bytes, PeerOffset.monotonic),
        wall: outbox.now.wall,
        bits: this.#ownBits,
      };
      const author = member.authorDurable();
      buildPeerMessage(pong.bytes, Command.pong, author, fields, pool.checksum);
      this.send(from, pong);
    }
    if (member.isNormalBackup && from === member.primary && readView(bytes) === member.view) {
      topology.adopt(member.view, bytes.subarray(PeerOffset.route, PeerOffset.route + 8));
    }
  }

  /** What a message takes to a peer and back, and how much that varies, ns; 0: not known. */
  get roundTripNs(): number {
    return this.#roundTripNs;
  }

  get roundTripVarNs(): number {
    return this.#roundTripVarNs;
  }

  /** Hardly anything takes longer than this to a peer and back. */
  get roundTripMaxNs(): number {
    return Math.min(this.#roundTripNs + 4 * this.#roundTripVarNs, ROUND_TRIP_MAX_NS);
  }

  /** A message has come from a replica. */
  onHeard(replica: number): void {
    this.#peers[replica].heardNs = this.#parts.outbox.now.monoNs;
  }

  /** Fewer replicas than a commit needs have been heard of late: they may not hear us either. */
  get isDeaf(): boolean {
    const { member, outbox } = this.#parts;
    const sinceNs = outbox.now.monoNs - DEAF_NS;
    const heard = this.#peers.filter(({ isUp, heardNs }) => isUp && heardNs >= sinceNs);
    return heard.length + 1 < member.quorums.replication;
  }

  #measure(measuredNs: number): void {
    const ns = Math.min(measuredNs, ROUND_TRIP_MAX_NS);
    if (this.#roundTripNs === 0) {
      this.#roundTripNs = ns;
      this.#roundTripVarNs = ns / 2;
      return;
    }
    this.#roundTripVarNs = (7 * this.#roundTripVarNs + Math.abs(ns - this.#roundTripNs)) / 8;
    this.#roundTripNs = (7 * this.#roundTripNs + ns) / 8;
  }

  onPong(from: number, bytes: Uint8Array): void {
    const { now } = this.#parts.outbox;
    this.#learn(from, bytes);
    const sentNs = peerNumber(bytes, PeerOffset.monotonic);
    if (sentNs > now.monoNs) return;
    this.#measure(now.monoNs - sentNs);
    const wall = readU64(bytes, PeerOffset.wall);
    this.clock.learn(from, sentNs, wall, now);
    this.#tickClock();
  }

  /** What pings and pongs say of their author. */
  #learn(from: number, bytes: Uint8Array): void {
    this.heardOf(from, peerNumber(bytes, PeerOffset.commitMin));
    this.#peers[from].isFull = (peerBits(bytes, PeerOffset.bits) & FULL) !== 0;
  }

  get #ownBits(): number {
    return this.#parts.checkpoints.isReadOnly ? FULL : 0;
  }

  #tickClock(): void {
    const { member, outbox } = this.#parts;
    this.clock.tick(outbox.now);
    traceClocks(outbox, member.replica, this.clock.takeNews());
  }

  #ping(replica: number, route: Uint8Array): void {
    const { pool, state, superblock, outbox, member } = this.#parts;
    const ping = pool.acquire('small');
    if (ping === null) return;
    const fields = {
      commitMin: state.commitMin,
      checkpointOp: superblock.current.checkpoint.op,
      monotonic: outbox.now.monoNs,
      route,
      bits: this.#ownBits,
    };
    buildPeerMessage(ping.bytes, Command.ping, member.authorDurable(), fields, pool.checksum);
    this.send(replica, ping);
  }
}
