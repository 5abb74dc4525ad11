/**
 * The network between replicas: two lanes for each pair, and connections over them that are made,
 * proven, broken and made again as a host's are. A process hears `peer-up` when a connection has
 * been proven, with the identity that the other one's file holds; `peer-down` when it learns that
 * nobody is there any more: at once when the other process dies and its machine can still say so,
 * never while it is merely out of reach.
 */
import { assert, bytesEqual, type Prng } from '../../stdx/index.ts';
import type { Member } from '../process/life.ts';
import type { PeerNetwork } from '../process/process.ts';
import { Stream, type World } from '../world/world.ts';
import { Lane, type LaneOptions, type Packet } from './lane.ts';

/** A process as the network sees it. */
export interface PeerEnd {
  readonly isUp: boolean;
  readonly isPaused: boolean;
  /** Lives begun so far. */
  readonly lives: number;
  readonly member: Member;
  onPeerUp(replica: number, member: Member): void;
  onPeerDown(replica: number): void;
  onPeerBytes(replica: number, bytes: Uint8Array): void;
}

export interface ClusterNetworkOptions extends LaneOptions {
  /** In 1,000 packets: the connection breaks. */
  readonly breaks: number;
}

/** Whether a message gets through. */
export type PeerFilter = (from: number, to: number, bytes: Uint8Array) => boolean;

/** What one end of a connection knows. */
interface Side {
  isUp: boolean;
  /** Which connection; 0: none yet. */
  generation: number;
  /** Who is at the other end. */
  peerId: Uint8Array;
}

const REDIAL_MIN_NS = 10_000_000;
const REDIAL_MAX_NS = 1_000_000_000;
/** Dials take a moment: a process that has just started does other things first. */
const DIAL_NS_MAX = 5_000_000;
const NOBODY = new Uint8Array(16);

export class ClusterNetwork implements PeerNetwork {
  readonly #world: World;
  readonly #prng: Prng;
  readonly #options: ClusterNetworkOptions;
  readonly #ends: readonly PeerEnd[];
  readonly #lanes: readonly (readonly Lane[])[];
  readonly #sides: readonly (readonly Side[])[];
  /** The newest dial of each pair: older ones are void. */
  readonly #dials: number[];
  /** Machines that are off: nobody there refuses anything. */
  readonly #isSilent: boolean[];
  #generationNext: number = 1;
  #filter: PeerFilter | null = null;
  #isCalm: boolean = false;

  constructor(world: World, ends: readonly PeerEnd[], options: ClusterNetworkOptions) {
    this.#world = world;
    this.#prng = world.prng(Stream.peers);
    this.#options = options;
    this.#ends = ends;
    const all = ends.map((_, index) => index);
    this.#lanes = all.map((from) => {
      return all.map((to) => {
        const prng = world.prng(Stream.peers, 1 + from * 16 + to);
        return new Lane(world, prng, options, (packet) => this.#onArrived(from, to, packet));
      });
    });
    this.#sides = all.map(() => {
      return all.map(() => ({ isUp: false, generation: 0, peerId: NOBODY }));
    });
    this.#dials = new Array<number>(ends.length ** 2).fill(0);
    this.#isSilent = new Array<boolean>(ends.length).fill(false);
  }

  /** Whether messages of `from` can reach `to` now. */
  isOpen(from: number, to: number): boolean {
    return this.#lane(from, to).isOpen;
  }

  /** Whether `self` believes that it is connected to `peer`. */
  isUp(self: number, peer: number): boolean {
    return this.#side(self, peer).isUp;
  }

  /** Shuts one direction. */
  shut(from: number, to: number): void {
    this.#lane(from, to).shut();
  }

  /** Opens one direction; what waited goes on, if the connection has lasted. */
  open(from: number, to: number): void {
    const lane = this.#lane(from, to);
    if (lane.isOpen) return;
    // Nobody waits for ever: the longer it was shut, the likelier one side has given up.
    if (!this.#isCalm && this.#prng.chance(1, 2)) this.#break(from, to);
    lane.open();
    this.#reconcile(from, to);
  }

  /** Between these replicas everything is well from now on. */
  heal(core: readonly number[]): void {
    for (const from of core) {
      for (const to of core) {
        if (from === to) continue;
        this.#lane(from, to).calm();
        this.open(from, to);
      }
    }
  }

  /** From now on connections do not break by themselves. */
  calm(): void {
    this.#isCalm = true;
  }

  /** What `filter` does not let through is lost; `null`: nothing is. */
  filter(filter: PeerFilter | null): void {
    this.#filter = filter;
  }

  send(from: number, to: number, bytes: Uint8Array): void {
    const side = this.#side(from, to);
    if (!side.isUp) return;
    if (this.#filter?.(from, to, bytes) === false) return;
    if (!this.#isCalm && this.#options.breaks > 0) {
      if (this.#prng.chance(this.#options.breaks, 1000)) {
        this.#world.coverage.add('linksBroken');
        this.#break(from, to);
        return;
      }
    }
    const senderId = (this.#ends[from] as PeerEnd).member.replicaId;
    this.#lane(from, to).send({ bytes, generation: side.generation, senderId });
  }

  onStarted(replica: number): void {
    this.#isSilent[replica] = false;
    for (let peer = 0; peer < this.#ends.length; peer++) {
      if (peer !== replica) this.#dialAfter(replica, peer, this.#prng.below(DIAL_NS_MAX), 0);
    }
  }

  onEnded(replica: number, isSilent: boolean): void {
    this.#isSilent[replica] = isSilent;
    for (let peer = 0; peer < this.#ends.length; peer++) {
      if (peer === replica) continue;
      const own = this.#side(replica, peer);
      own.isUp = false;
      own.generation = 0;
      this.#reconcile(replica, peer);
    }
  }

  #onArrived(from: number, to: number, { bytes, generation, senderId }: Packet): void {
    const side = this.#side(to, from);
    const end = this.#ends[to] as PeerEnd;
    if (!end.isUp || !side.isUp) return;
    // In the wild, packets of an earlier connection come late; but not of a file that is no more.
    if (this.#options.isOrdered && generation !== side.generation) return;
    if (!bytesEqual(senderId, 0, side.peerId, 0, 16)) return;
    this.#world.coverage.add('peerMessages');
    end.onPeerBytes(from, bytes);
  }

  /** Both ends hear of it, each in its time; then they connect again. */
  #break(a: number, b: number): void {
    this.#world.note('network', 'break', `r${a} r${b}`);
    this.#severLater(a, b);
    this.#severLater(b, a);
  }

  /** An end that is connected to nobody learns of it, as soon as anything can tell it so. */
  #reconcile(a: number, b: number): void {
    const one = this.#side(a, b);
    const other = this.#side(b, a);
    if (one.isUp && one.generation !== other.generation) this.#severLater(a, b);
    if (other.isUp && one.generation !== other.generation) this.#severLater(b, a);
  }

  #severLater(self: number, peer: number): void {
    const side = this.#side(self, peer);
    const { generation } = side;
    const delayNs = this.#lane(peer, self).latencyNs();
    this.#world.after(delayNs, () => {
      if (!side.isUp || side.generation !== generation) return;
      // The news does not get through, or there is nobody to bring it.
      if (!this.#lane(peer, self).isOpen || this.#isSilent[peer]) return;
      this.#sever(self, peer);
      this.#dialAfter(self, peer, REDIAL_MIN_NS, 0);
    });
  }

  #sever(self: number, peer: number): void {
    this.#side(self, peer).isUp = false;
    this.#side(self, peer).generation = 0;
    this.#world.coverage.add('linksDown');
    this.#ends[self]?.onPeerDown(peer);
    // A connection has two ends: the other one hears of it too.
    if (this.#side(peer, self).isUp) this.#severLater(peer, self);
  }

  #dialAfter(a: number, b: number, delayNs: number, attempt: number): void {
    const pair = Math.min(a, b) * this.#ends.length + Math.max(a, b);
    const dial = (this.#dials[pair] ?? 0) + 1;
    this.#dials[pair] = dial;
    this.#world.after(delayNs, () => {
      if (this.#dials[pair] === dial) this.#dial(a, b, attempt);
    });
  }

  #dial(a: number, b: number, attempt: number): void {
    const one = this.#ends[a] as PeerEnd;
    const other = this.#ends[b] as PeerEnd;
    const isConnected =
      this.#side(a, b).isUp && this.#side(a, b).generation === this.#side(b, a).generation;
    if (isConnected || (!one.isUp && !other.isUp)) return;
    const backoffNs = Math.min(REDIAL_MAX_NS, REDIAL_MIN_NS * 2 ** Math.min(attempt, 10));
    let againNs = this.#prng.between(backoffNs / 2, backoffNs);
    if (this.isOpen(a, b) && this.isOpen(b, a)) {
      if (one.isUp && !other.isUp) this.#refuse(a, b);
      else if (other.isUp && !one.isUp) this.#refuse(b, a);
      else if (!one.isPaused && !other.isPaused) againNs += this.#connect(a, b);
    }
    this.#dialAfter(a, b, againNs, attempt + 1);
  }

  /** `peer` is down, and its machine says so if it can. */
  #refuse(self: number, peer: number): void {
    if (this.#isSilent[peer]) return;
    const { lives } = this.#ends[self] as PeerEnd;
    this.#world.after(this.#lane(self, peer).latencyNs(), () => {
      const end = this.#ends[self] as PeerEnd;
      if (!end.isUp || end.lives !== lives || this.#side(self, peer).isUp) return;
      this.#world.coverage.add('linksRefused');
      end.onPeerDown(peer);
    });
  }

  /** Returns how long it takes, if nothing comes between. */
  #connect(a: number, b: number): number {
    const generation = this.#generationNext++;
    this.#world.note('network', 'connect', `r${a} r${b} #${generation}`);
    const delayNs = this.#lane(a, b).latencyNs() + this.#lane(b, a).latencyNs();
    const lives = [(this.#ends[a] as PeerEnd).lives, (this.#ends[b] as PeerEnd).lives];
    const isCurrent = (): boolean => {
      const [one, other] = [this.#ends[a] as PeerEnd, this.#ends[b] as PeerEnd];
      return one.isUp && other.isUp && one.lives === lives[0] && other.lives === lives[1];
    };
    this.#world.after(delayNs, () => {
      if (!isCurrent() || !this.isOpen(a, b) || !this.isOpen(b, a)) return;
      const members = [identity(this.#ends[a] as PeerEnd), identity(this.#ends[b] as PeerEnd)];
      this.#connected(a, b, members[1] as Member, generation);
      this.#connected(b, a, members[0] as Member, generation);
    });
    return delayNs;
  }

  #connected(self: number, peer: number, member: Member, generation: number): void {
    const side = this.#side(self, peer);
    const end = this.#ends[self] as PeerEnd;
    // The old connection's end may have been seen, or not.
    if (side.isUp && this.#prng.chance(1, 2)) end.onPeerDown(peer);
    if (!end.isUp) return;
    side.isUp = true;
    side.generation = generation;
    side.peerId = member.replicaId;
    this.#world.coverage.add('linksUp');
    end.onPeerUp(peer, member);
  }

  #lane(from: number, to: number): Lane {
    return this.#lanes[from]?.[to] as Lane;
  }

  #side(self: number, peer: number): Side {
    return this.#sides[self]?.[peer] as Side;
  }
}

/** As it is now; files change. */
function identity({ member }: PeerEnd): Member {
  assert(member.replicaId.length === 16, 'ClusterNetwork: a replica id has 16 bytes');
  return { replicaId: member.replicaId.slice(), isRecovered: member.isRecovered };
}
