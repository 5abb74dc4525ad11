/**
 * One simulated life of a cluster: some seconds of trouble of every kind, then peace, in which
 * everything has to come right within twenty election timers.
 */
import assert from 'node:assert/strict';
import type { ServerId } from './entry.ts';
import { addressOf, type Node, type Payload } from './node-test-helper.ts';
import type { Policy } from './options.ts';
import type { Parts } from './parts.ts';
import { World } from './world-test-helper.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly onParts?: ((parts: Parts<Payload>) => void) | undefined;
  readonly trace?: (line: string) => void;
  readonly troubleMs?: number;
}

export interface FuzzSummary {
  readonly steps: number;
  readonly commits: number;
  readonly successes: number;
  readonly reads: number;
  readonly servers: number;
}

const TIMER_MS = 200;

export function fuzz(options: FuzzOptions): FuzzSummary {
  const { seed, onParts, trace, troubleMs = 2500 } = options;
  const servers = [3, 3, 5, 4, 1, 2][seed % 6];
  const policy = policyOf(seed);
  // A cluster whose members are of two versions.
  const old = policy.preVote === 'auto' ? ['n2', 'n3', 'n4'].slice(0, seed % 4) : [];
  const isOrdered = seed % 5 < 2;
  const base = { seed, servers, onParts, policy, old, isOrdered };
  const world = new World(trace === undefined ? base : { ...base, trace });
  const trouble = new Trouble(world);
  world.run(300);
  trouble.begin();
  world.run(troubleMs);
  trouble.end();
  world.run(20 * TIMER_MS + (servers === 1 ? 0 : 1000));
  const leader = checkPeace(world);
  checkMembers(world, leader, trouble.unwanted);
  for (const id of leader.inside.log.servers.keys()) world.propose(world.nodes.get(id) as Node);
  world.run(5 * TIMER_MS);
  checkPeace(world);
  checkQuiet(world);
  checkOutsiders(world, leader);
  const { checker, steps } = world;
  assert(checker.successes > 0, 'nothing was ever done');
  return {
    steps,
    commits: checker.commitMax,
    successes: checker.successes,
    reads: checker.reads,
    servers: leader.inside.log.servers.size,
  };
}

/** Some of what may differ from cluster to cluster. */
function policyOf(seed: number): Partial<Policy> {
  return {
    preVote: (['on', 'off', 'auto'] as const)[seed % 3],
    inflightMax: [64, 1, 3][(seed >> 1) % 3],
    batchEntriesMax: [1024, 1, 4][(seed >> 2) % 3],
    immediateCommitSync: seed % 5 !== 0,
    suspectOnRefused: seed % 2 === 0,
    ackCopies: seed % 7 !== 3,
    readConfirmation: seed % 4 === 0 ? 'entry' : 'round',
  };
}

/** One leader that all its servers follow, nothing under way, everything everywhere the same. */
function checkPeace(world: World): Node {
  const up = [...world.nodes.values()].filter((node) => node.isUp);
  const terms = up.filter((node) => node.inside.member.isLeader);
  const leader = terms.toSorted((a, b) => b.inside.member.term - a.inside.member.term)[0];
  assert(leader !== undefined, 'nobody leads');
  const { log, commits } = leader.inside;
  assert.equal(commits.index, log.last, 'not everything is committed');
  for (const id of log.servers.keys()) {
    const node = world.nodes.get(id) as Node;
    assert(node.isUp, `${id} is configured and cannot run`);
    const status = node.engine.status();
    assert.equal(status.leader, leader.id, `${id} follows somebody else`);
    assert.equal(status.commitIndex, commits.index, `${id} lags`);
    assert.equal(status.appliedIndex, commits.index, `${id} has not applied all`);
    assert.equal(status.commandCount, 0, `${id} has commands under way`);
    assert.equal(status.readCount, 0, `${id} has reads under way`);
    assert.equal(status.delayedCount, 0, `${id} has messages that wait for the disk`);
    assert(status.phase === 'member' || status.phase === 'leaving', `${id} is ${status.phase}`);
    assert(status.phase === 'leaving' || status.isConnected, `${id} believes it is cut off`);
    assert.deepEqual(node.applied, leader.applied, `${id} has applied something else`);
  }
  return leader;
}

/** Nothing happens any more but heartbeats: whatever goes on for ever is a livelock. */
function checkQuiet(world: World): void {
  const before = world.steps;
  const timers = [...world.nodes.values()].filter((node) => node.isUp);
  const pingMs = Math.min(...timers.map((node) => node.inside.electionTimer.pingMs));
  world.run(20 * pingMs);
  const perPing = (world.steps - before) / 20;
  // A ping, an answer, two deadlines; and servers that are out and ask to be let in.
  assert(perPing <= 6 * world.nodes.size, `${perPing} steps from ping to ping`);
}

/** Everybody is in who should be: whoever wants to and has anybody to ask. */
function checkMembers(world: World, leader: Node, unwanted: ReadonlySet<ServerId>): void {
  const { servers } = leader.inside.log;
  const addresses = new Set(servers.values());
  for (const node of world.nodes.values()) {
    if (!node.isUp || servers.has(node.id) || unwanted.has(node.id)) continue;
    const { phase, remotes } = node.engine.status();
    const asksInVain = !remotes.some((address) => addresses.has(address));
    assert(phase === 'joining' && asksInVain, `${node.id} is ${phase}, and out`);
  }
}

/** Nobody who was removed goes on believing that it is in, if it knows anybody who knows better. */
function checkOutsiders(world: World, leader: Node): void {
  const { servers } = leader.inside.log;
  for (const node of world.nodes.values()) {
    if (!node.isUp || servers.has(node.id)) continue;
    const { phase } = node.engine.status();
    const knows = [...node.inside.log.servers].some(([id, address]) => servers.get(id) === address);
    assert(
      !knows || (phase !== 'member' && phase !== 'leaving'),
      `${node.id} is ${phase}, and out`,
    );
  }
}

class Trouble {
  readonly #world: World;
  /** Servers that were told to go, or that others were told to remove. */
  readonly unwanted: Set<ServerId> = new Set();
  #isOn: boolean = false;
  #joins: number = 0;

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    const { prng } = this.#world;
    this.#isOn = true;
    this.#world.lossRate = prng.pick([0, 0, 20, 100]);
    this.#world.doubleRate = prng.pick([0, 20, 100]);
    this.#world.crashRate = prng.pick([0, 0, 5, 20]);
    this.#world.delayMaxMs = prng.pick([2, 10, 60]);
    this.#world.syncMaxMs = prng.pick([1, 5, 50, 200]);
    for (let i = 0; i < 4; i++) this.#client();
    this.#mischief();
  }

  end(): void {
    const world = this.#world;
    this.#isOn = false;
    world.lossRate = 0;
    world.doubleRate = 0;
    world.crashRate = 0;
    world.delayMaxMs = 3;
    world.syncMaxMs = 2;
    world.blocked.clear();
    for (const node of world.nodes.values()) if (!node.isUp) world.start(node);
  }

  #client(): void {
    const { prng } = this.#world;
    if (!this.#isOn) return;
    const node = this.#anyNode();
    if (node !== null) {
      if (prng.chance(1, 4)) this.#world.read(node);
      else {
        const isChained = prng.chance(1, 4);
        this.#world.propose(node, isChained ? (node.applied.at(-1) ?? null) : null);
      }
    }
    this.#world.schedule(prng.between(1, 40), () => this.#client());
  }

  #mischief(): void {
    const { prng } = this.#world;
    if (!this.#isOn) return;
    this.#doHarm(prng.below(18));
    this.#world.schedule(prng.between(10, 150), () => this.#mischief());
  }

  #doHarm(kind: number): void {
    const world = this.#world;
    const node = this.#anyNode();
    if (node === null || kind <= 1) {
      for (const one of world.nodes.values()) if (!one.isUp) world.start(one);
    } else if (kind === 2) world.crash(node);
    else if (kind === 3) this.#isolate(node);
    else if (kind === 4) this.#cutOneWay();
    else if (kind <= 6) world.blocked.clear();
    else if (kind <= 8) world.snapshot(node);
    else if (kind === 9) world.cutSession();
    else if (kind === 14 || kind === 15) this.#strand();
    else if (kind === 16) world.pause(node, world.prng.between(50, 600));
    else if (kind === 17) world.failDisk(node);
    else this.#administer(node, kind);
  }

  #administer(node: Node, kind: number): void {
    const world = this.#world;
    const { prng } = world;
    const { log } = node.inside;
    if (kind === 10) {
      const reason = 'test';
      world.admin(node, (command) => ({ type: 'transfer', command, target: null, reason }));
    } else if (kind === 11) {
      const electionTimerMs = prng.pick([100, 150, 120]);
      const type = 'change-election-timer';
      world.admin(node, (command) => ({ type, command, electionTimerMs }));
    } else if (kind === 12 && this.#joins < 3) {
      this.#joins++;
      const server = world.join(prng.chance(1, 2));
      const address = addressOf(server);
      world.admin(node, (command) => ({ type: 'add-server', command, server, address }));
    } else if (kind === 13 && log.servers.size > 3) {
      const isKick = prng.chance(1, 2);
      const server: ServerId = isKick ? prng.pick([...log.servers.keys()]) : node.id;
      this.unwanted.add(server);
      if (isKick) world.admin(node, (command) => ({ type: 'kick', command, server }));
      else world.admin(node, (command) => ({ type: 'leave', command }));
    }
  }

  #isolate(node: Node): void {
    const { blocked, nodes } = this.#world;
    for (const other of nodes.keys()) {
      blocked.add(`${node.id}>${other}`);
      blocked.add(`${other}>${node.id}`);
    }
  }

  /** A leader goes on alone with commands of its own, while the others go on without it. */
  #strand(): void {
    const world = this.#world;
    const { prng } = world;
    const up = [...world.nodes.values()].filter((node) => node.isUp);
    const leader = up.find((node) => node.inside.member.isLeader);
    if (leader === undefined) return;
    this.#isolate(leader);
    for (let i = prng.below(6); i > 0 && leader.isUp; i--) world.propose(leader);
    for (let i = 0; i < 30; i++) {
      world.schedule(prng.between(100, 400), () => leader.isUp && world.read(leader));
    }
    for (const node of up) {
      if (node !== leader) world.schedule(prng.between(100, 450), () => world.snapshot(node));
    }
    world.schedule(prng.between(200, 500), () => world.blocked.clear());
  }

  #cutOneWay(): void {
    const { blocked, nodes, prng } = this.#world;
    const ids = [...nodes.keys()];
    blocked.add(`${prng.pick(ids)}>${prng.pick(ids)}`);
  }

  #anyNode(): Node | null {
    const up = [...this.#world.nodes.values()].filter((node) => node.isUp);
    return up.length === 0 ? null : this.#world.prng.pick(up);
  }
}
