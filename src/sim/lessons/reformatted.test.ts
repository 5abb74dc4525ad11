/**
 * A replica that has lost its file and comes back under the same index. A new file that `recover`
 * has made counts, after the others have committed what it takes; one that was simply formatted has
 * forgotten what it promised, and nobody may rely on it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatWrites, type Parts, RELEASE } from '../../vsr/index.ts';
import { createChecksum } from '../../wire/index.ts';
import type { SimClient } from '../clients/client.ts';
import { Assembly } from '../cluster/assembly.ts';
import { clusterQuorums } from '../cluster/cluster-swarm.ts';
import type { EngineSetup } from '../engine-setup.ts';
import { GEOMETRY_SMALL, replicaSetup } from '../replica-setup.ts';
import { counterSubject } from '../subjects/subjects.ts';
import { Lesson } from './lesson-test-helper.ts';

const MS = 1_000_000;
const checksum = createChecksum();

/** A lost file is made again by `format`, without asking anybody. */
function carelessSetup(replica: number, parts: Parts[]): EngineSetup {
  const onParts = (own: Parts): void => {
    parts[replica] = own;
  };
  const setup = replicaSetup({ replicaCount: 3, replica, onParts });
  const replicaId = new Uint8Array(16).fill(0xa0 + replica);
  const fields = { cluster: setup.cluster, replica, replicaCount: 3, replicaId };
  return {
    ...setup,
    reformat: () => {
      const options = { ...fields, geometry: GEOMETRY_SMALL, release: RELEASE };
      return [...formatWrites(options, checksum)].map(({ offset, bytes }) => {
        return { offset, bytes: bytes.slice() };
      });
    },
  };
}

class Cluster {
  readonly parts: Parts[] = [];
  readonly #cluster: Assembly;
  readonly #client: SimClient;
  readonly #budget = { requestsLeft: 0 };

  constructor() {
    this.#cluster = new Assembly({
      seed: 1,
      replicaCount: 3,
      engine: (replica) => carelessSetup(replica, this.parts),
      quorums: clusterQuorums(3),
      subject: counterSubject,
      client: { repeats: 0, pings: 0 },
      faults: { reformats: 1 },
    });
    this.#cluster.network.calm();
    for (const site of this.#cluster.sites) site.faults.freeze(true);
    this.#client = this.#cluster.makeClient(0, this.#budget);
    for (const site of this.#cluster.sites) site.start();
    this.#client.start();
    this.until(() => this.isAnswered);
  }

  get isAnswered(): boolean {
    return this.#client.isDone;
  }

  get primary(): number {
    const isLeader = ({ process, index }: { process: { isUp: boolean }; index: number }): boolean =>
      process.isUp && this.parts[index]?.member.isNormalPrimary === true;
    return this.#cluster.sites.find(isLeader)?.index ?? -1;
  }

  request(): void {
    this.#budget.requestsLeft++;
    this.#client.goOn();
  }

  /** Nothing gets through between `replica` and others. */
  cut(replica: number): void {
    this.#cluster.network.filter((from, to) => from !== replica && to !== replica);
  }

  connect(): void {
    this.#cluster.network.filter(null);
  }

  stop(replica: number): void {
    this.#cluster.site(replica).process.crash('new');
  }

  start(replica: number): void {
    this.#cluster.site(replica).start();
  }

  /** Its file is gone; a freshly formatted one takes its place. */
  format(replica: number): void {
    this.#cluster.site(replica).lose();
    this.#cluster.site(replica).reformat(0);
  }

  wait(ms: number): void {
    const { world } = this.#cluster;
    const endNs = world.nowNs + ms * MS;
    world.after(ms * MS, () => {});
    while (world.step(endNs));
  }

  until(condition: () => boolean, ms: number = 30_000): void {
    for (let i = 0; i < ms / 10 && !condition(); i++) this.wait(10);
    assert.ok(condition(), this.#cluster.sites.map((site) => site.describe()).join('; '));
  }

  end(): void {
    for (const site of this.#cluster.sites) if (site.process.isUp) site.process.crash('new');
    for (const site of this.#cluster.sites) site.retire();
  }
}

/**
 * Operation N is on the primary and on `lost`, whose file is then formatted; `away` missed both.
 */
function formatted(): { t: Cluster; primary: number; lost: number; away: number; n: number } {
  const t = new Cluster();
  const { primary } = t;
  const lost = (primary + 1) % 3;
  const away = (primary + 2) % 3;
  t.cut(away);
  t.request();
  t.until(() => t.isAnswered);
  const n = t.parts[primary].state.commitMin;
  t.stop(lost);
  t.format(lost);
  t.wait(1000);
  return { t, primary, lost, away, n };
}

test('a file that was formatted anew cannot acknowledge', () => {
  const { t, primary, lost, n } = formatted();
  assert.equal(t.primary, primary);
  t.request();
  t.wait(10_000);
  assert.ok(!t.isAnswered && t.parts[primary].state.commitMin === n);
  assert.ok(t.parts[primary].peers.isStranger(lost));
  // The one that missed it has kept its promises.
  t.connect();
  t.until(() => t.isAnswered);
  assert.equal(t.parts[lost].state.commitMin, 0);
  t.end();
});

test('a file that was formatted anew cannot vote: what was answered is not lost', () => {
  const { t, primary, lost, away, n } = formatted();
  t.stop(primary);
  t.connect();
  t.request();
  t.wait(20_000);
  assert.equal(t.primary, -1, 'two of three, and one of them does not count');
  assert.ok(!t.isAnswered && t.parts[away].state.commitMin < n);
  t.start(primary);
  t.until(() => t.isAnswered);
  for (const replica of [primary, away]) assert.equal(t.parts[replica].state.commitMin, n + 1);
  assert.equal(t.parts[lost].state.commitMin, 0);
  t.end();
});

test('a file that was made again by recover acknowledges and votes', () => {
  const t = new Lesson({ replicaCount: 3 });
  t.begin();
  const { primary } = t;
  const [lost, away] = t.others(primary) as [number, number];
  t.recover(lost);
  t.run();
  // It and the primary alone, then it and the one that was away alone.
  t.stop(away);
  t.ask(1000);
  t.open(away);
  t.run();
  t.stop(primary);
  t.ask(5000);
  t.expect(lost, { isNormal: true });
  t.end();
});

test('who was away while a file was made again counts the new one all the same', () => {
  const t = new Lesson({ replicaCount: 5 });
  t.begin();
  const [lost, one, other, away] = t.others(t.primary) as [number, number, number, number];
  t.stop(away);
  t.recover(lost);
  t.run();
  // Another life of it, which has joined long ago.
  t.stop(lost);
  t.open(lost);
  t.run();
  t.open(away);
  t.run();
  // Three of five are enough only if all three count each other.
  t.stop(one, other);
  t.ask(5000);
  t.expect(lost, { isNormal: true });
  t.expect(away, { isNormal: true });
  t.end();
});
