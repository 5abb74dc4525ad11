/**
 * One story for each planted bug: in a cluster without it the story ends well; with it, a checker
 * of the simulator or the story itself fails. What is called k is the operation that it is about.
 */
import { assert, bytesEqual } from '../../stdx/index.ts';
import { type Parts, prepareOffset } from '../../vsr/index.ts';
import { GEOMETRY, JournalBench } from '../../vsr/log/log-test-helper.ts';
import type { Plant } from './plants-test-helper.ts';
import { Tale } from './tale-test-helper.ts';

/** Tells a story of a cluster with this bug; throws what a checker finds. */
export type Story = (plant: Plant | null) => void;

type Trio = [primary: number, next: number, last: number];

/**
 * A cluster of three, and its replicas in the order of the views that they lead from now on. One
 * client more than begins: who is new is not helped by what its session remembers.
 */
function three(
  plant: Plant | null,
  clients: number,
  isRotting: boolean = false,
): [Tale, number, Trio] {
  const t = new Tale(plant, { replicaCount: 3, clients: clients + 1, isRotting });
  const k = t.begin(clients) + 1;
  return [t, k, trioOf(t)];
}

function trioOf(t: Tale): Trio {
  const { primary } = t;
  const [next, last] = t.others(primary) as [number, number];
  return [primary, next, last];
}

/** All that is asked for is answered within 30 s, and in the end all are one. */
function endsWell(t: Tale): void {
  t.until(() => t.isAnswered, 30_000);
  t.end();
}

/** Primary and second: k and what follows are on both. First: k is missing, k + 1 is there. */
export const gapAtTheNextPrimary: Story = (plant) => {
  const [t, k, [primary, next, last]] = three(plant, 2);
  t.drop({ from: next, to: primary });
  t.drop({ from: next, to: last, command: ['requestPrepare', 'requestHeaders'] });
  t.drop({ from: primary, command: 'commit' });
  const hold = t.drop({ from: last, to: primary, command: 'prepareOk' });
  const pass = t.drop({ from: primary, to: next, command: 'prepare' });
  t.request(1, 0);
  t.until(() => t.progress(primary).op === k);
  t.wait(1);
  pass();
  t.request(1, 1);
  t.until(() => t.progress(next).op === k + 1);
  t.drop({ from: primary, to: next, command: 'prepare' });
  hold();
  t.until(() => t.isAnswered);
  t.stop(primary);
  t.dropNothing();
  t.request(2, 2);
  endsWell(t);
};

/** k is committed on two of four; the other two do not know it. */
export const committedByTwoOfFour: Story = (plant) => {
  const t = new Tale(plant, { replicaCount: 4, clients: 2 });
  t.begin(1);
  const { primary } = t;
  const [, second, third] = t.others(primary) as [number, number, number];
  t.drop({ from: primary, command: 'commit' });
  for (const to of [second, third]) t.drop({ from: primary, to, command: 'prepare' });
  t.request(1);
  t.until(() => t.isAnswered);
  t.stop(primary);
  t.dropNothing();
  t.request(2, 1);
  endsWell(t);
};

/** One of two has lost k, which the other never had. */
export const lostByOneOfTwo: Story = (plant) => {
  const t = new Tale(plant, { replicaCount: 2, clients: 1, isRotting: true });
  const k = t.begin(1) + 1;
  const { primary } = t;
  const [backup] = t.others(primary) as [number];
  t.drop({ from: primary, to: backup, command: 'prepare' });
  t.request(1);
  t.until(() => t.progress(primary).opDurable === k);
  loseDuringViewChange(t, primary, k, () => t.stop(primary));
  t.dropNothing();
  endsWell(t);
};

/** k is on the primary, which is down, and on the next one, which loses it in the view change. */
export const committedAndLostByOne: Story = (plant) => {
  const [t, k, [primary, next, last]] = three(plant, 1, true);
  t.drop({ from: primary, command: 'commit' });
  t.drop({ from: primary, to: last, command: 'prepare' });
  t.request(1);
  t.until(() => t.isAnswered);
  loseDuringViewChange(t, next, k, () => t.stop(primary));
  t.dropNothing();
  t.request(2, 1);
  t.wait(5000);
  t.open(primary);
  endsWell(t);
};

/** k was on one only, which has lost it: what nobody has holds nobody up. */
export const lostByAll: Story = (plant) => {
  const [t, k, [primary, next, last]] = three(plant, 1, true);
  t.logsHeld.add(primary);
  t.drop({ from: primary, to: last, command: 'prepare' });
  t.drop({ from: next, to: primary, command: 'prepareOk' });
  t.request(1);
  t.until(() => t.progress(next).opDurable === k);
  loseDuringViewChange(t, next, k, () => t.crash(primary, 'old'));
  t.logsHeld.clear();
  t.dropNothing();
  // Only the one that has lost it hears of both others.
  t.drop({ from: primary, to: last, command: 'doViewChange' });
  t.drop({ from: last, to: primary, command: 'doViewChange' });
  t.open(primary);
  endsWell(t);
};

/** `replica` writes down what it has to say in a view change; then the prepare at `op` is gone. */
function loseDuringViewChange(t: Tale, replica: number, op: number, kill: () => void): void {
  const hush = t.drop({ command: 'doViewChange' });
  const { view } = t.progress(replica);
  kill();
  t.open(replica);
  t.until(() => t.progress(replica).view > view);
  t.wait(50);
  t.stop(replica);
  t.corrupt(replica, op, 'prepare');
  t.open(replica);
  t.until(() => t.progress(replica).role === 'view-change');
  hush();
}

interface Fork {
  readonly t: Tale;
  readonly k: number;
  /** Leaders of views 1 and 4, 2 and 5, 3 and 6. */
  readonly a: number;
  readonly b: number;
  readonly c: number;
  /** Ends the isolation of c. */
  readonly connect: () => void;
  /** Ends the silence of clients. */
  readonly speak: () => void;
}

/**
 * Views 1, 2 and so on are led by a, b and c. c has acknowledged k of view 1, which nobody else
 * has, and is cut off from both. a is down. Clients are silent.
 */
function forked(plant: Plant | null, clients: number): Fork {
  const [t, k, [a, b, c]] = three(plant, clients);
  t.logsHeld.add(a);
  t.drop({ from: a, to: b, command: 'prepare' });
  t.drop({ from: c, to: a, command: 'prepareOk' });
  for (const to of [b, c]) t.drop({ from: 'client', to });
  t.request(1, 0);
  t.until(() => t.progress(c).opDurable === k);
  t.dropNothing();
  const speak = t.drop({ from: 'client' });
  const connect = t.isolate(c);
  t.crash(a, 'old');
  t.logsHeld.clear();
  return { t, k, a, b, c, connect, speak };
}

/**
 * A stale k on one, and the newer view's k on nobody that is left: it can be denied all the same.
 */
export const staleHeaderDenies: Story = (plant) => {
  const { t, k, a, b, connect, speak } = forked(plant, 3);
  t.open(a);
  t.until(() => t.primary === b && t.progress(a).role === 'backup');
  t.drop({ from: a, to: b, command: ['requestPrepare', 'requestHeaders', 'prepareOk'] });
  const pass = t.drop({ from: b, to: a, command: 'prepare' });
  speak();
  t.request(1, 1);
  t.until(() => t.progress(b).op >= k);
  t.wait(1);
  pass();
  const last = t.progress(b).op + 1;
  t.request(1, 2);
  t.until(() => t.progress(a).op === last);
  t.stop(b);
  connect();
  endsWell(t);
};

/** A log that was chosen and not finished: a has it, and b, where it came from, is gone. */
export const chosenAndNotFinished: Story = (plant) => {
  const { t, k, a, b, c, connect, speak } = forked(plant, 2);
  t.open(a);
  t.drop({ from: b, to: a, command: ['startView', 'commit', 'prepare'] });
  t.until(() => t.primary === b);
  speak();
  t.request(1, 1);
  t.until(() => t.progress(b).opDurable >= k);
  const { view } = t.progress(b);
  t.stop(b);
  t.open(b);
  t.until(() => t.progress(a).view === view + 2 && t.progress(a).op >= k, 20_000);
  t.wait(20);
  t.stop(b);
  connect();
  t.until(() => t.isAnswered, 30_000);
  t.expect(c, { isNormal: true });
  endsWell(t);
};

/** What c has acknowledged was cut off by view 2, of which it has heard when it dies. */
export const cutAndRestarted: Story = (plant) => {
  const { t, k, a, b, c, connect, speak } = forked(plant, 2);
  t.open(a);
  t.until(() => t.primary === b && t.progress(a).role === 'backup');
  const { view } = t.progress(b);
  t.drop({ from: b, to: c, command: 'prepare' });
  t.drop({ from: b, command: 'commit' });
  connect();
  t.until(() => t.progress(c).logView === view && t.progress(c).op < k);
  t.wait(50);
  t.stop(c);
  t.open(c);
  t.until(() => t.progress(c).role === 'backup');
  speak();
  t.request(1, 1);
  t.until(() => t.progress(b).commitMin === k);
  t.stop(b);
  t.dropNothing();
  endsWell(t);
};

/**
 * The new primary has told c of a log that ends where c has no room, and dies; the last of it was
 * answered by the old primary, and the new one never knew.
 */
export const toldBeyondItsRoom: Story = (plant) => {
  const [t, k, [primary, next, last]] = three(plant, 3);
  const end = t.isolate(last);
  // A log of 40 without a checkpoint has room up to 39.
  t.request(39 - k + 1);
  t.until(() => t.isAnswered);
  t.wait(50);
  t.drop({ from: primary, command: 'commit' });
  t.drop({ to: last, command: 'prepare' });
  for (const client of [0, 1, 2]) t.request(1, client);
  t.until(() => t.isAnswered);
  t.expect(next, { op: 42, commitMax: 39 });
  end();
  t.stop(primary);
  const { view } = t.progress(last);
  t.until(() => t.progress(last).logView > view && t.progress(last).op === 39);
  t.wait(50);
  t.stop(next);
  t.open(primary);
  t.dropNothing();
  t.request(2, 3);
  endsWell(t);
};

/** k is acknowledged by x in one view, replaced there in the next, and back in the view after. */
export const acknowledgedLongAgo: Story = (plant) => {
  const t = new Tale(plant, { replicaCount: 5, clients: 2 });
  const k = t.begin(2) + 1;
  const { primary } = t;
  const [e, x, y, z] = t.others(primary) as [number, number, number, number];
  const { view } = t.progress(primary);
  const ends = [e, y].map((to) => t.drop({ from: primary, to, command: 'prepare' }));
  const late = t.drop({ from: primary, to: z, command: 'prepare' });
  t.request(1);
  t.until(() => t.progress(x).opDurable === k);
  t.wait(3);
  const connect = t.isolate(primary);
  // e leads, by the votes of y and z, and only x follows it.
  const hush = t.drop({ from: x, to: e, command: 'doViewChange' });
  for (const to of [y, z]) {
    t.drop({ from: e, to, command: ['startView', 'commit', 'prepare'] });
    t.drop({ to, command: 'doViewChange' });
  }
  t.until(() => t.primary === e && t.progress(e).view === view + 1);
  hush();
  t.until(() => t.progress(x).logView === view + 1 && t.progress(x).opDurable === k);
  t.wait(20);
  t.stop(e, x);
  connect();
  for (const pass of ends) pass();
  t.until(() => t.primary === primary && t.progress(primary).view > view, 60_000);
  t.wait(500);
  late();
  t.until(() => t.isAnswered, 30_000);
  t.dropNothing();
  endsWell(t);
};

/** The next primary has all operations and cannot execute the last ones before a checkpoint. */
export const stalledAtCheckpoint: Story = (plant) => {
  const [t, , [primary, next, last]] = three(plant, 1);
  t.checkpointsHeld.add(next);
  t.request(18);
  t.until(() => t.isAnswered);
  t.expect(next, { commitMin: 15 });
  t.stop(primary);
  t.request(1);
  // It gives up and leaves the lead to another.
  t.until(() => t.primary === last, 30_000);
  t.checkpointsHeld.clear();
  endsWell(t);
};

/** A primary is back before anybody has left its view. */
export const backBeforeItIsMissed: Story = (plant) => {
  const [t, , [primary]] = three(plant, 1);
  t.drop({ command: 'startViewChange' });
  t.stop(primary);
  t.open(primary);
  t.wait(1000);
  t.dropNothing();
  t.request(2);
  endsWell(t);
};

/** A primary dies. */
export const primaryDies: Story = (plant) => {
  const [t, , [primary]] = three(plant, 1);
  t.stop(primary);
  t.request(1);
  endsWell(t);
};

/** A primary dies, and so has the next one. */
export const twoPrimariesDie: Story = (plant) => {
  const t = new Tale(plant, { replicaCount: 5, clients: 1 });
  t.begin(1);
  const { primary } = t;
  const [next] = t.others(primary) as [number];
  t.stop(next, primary);
  t.request(1);
  endsWell(t);
};

/** The only backup cannot finish a checkpoint: what would take its place in the log waits. */
export const checkpointHeldUp: Story = (plant) => {
  const geometry = { slots: 64, slotSize: 8192, requestSizeMax: 8192 };
  const t = new Tale(plant, { replicaCount: 3, clients: 1, geometry });
  t.begin(1);
  const { primary } = t;
  const [next, last] = t.others(primary) as [number, number];
  t.stop(last);
  t.checkpointsHeld.add(next);
  t.request(70);
  t.wait(5000);
  // The checkpoint is due at 31: 16 operations of slack, and a pipeline of 8.
  t.expect(primary, { commitMax: 31 + 16 + 8 });
  t.checkpointsHeld.clear();
  t.open(last);
  endsWell(t);
};

/** Power is cut where a checkpoint was copied, as soon as the superblock names it. */
export const cutAfterCopy: Story = (plant) => {
  const [t, , [, , last]] = three(plant, 1);
  t.stop(last);
  t.request(120);
  t.until(() => t.isAnswered, 60_000);
  t.open(last);
  // One step at a time.
  while (t.count('selfRestarts') === 0) t.until(() => true);
  t.crash(last, 'old');
  t.open(last);
  endsWell(t);
};

/**
 * Of a journal alone: its one slot is to hold A, then B, then A again, before any of it is done.
 */
export const writtenTwiceAtOnce: Story = (plant) => {
  const bench = new JournalBench();
  plant?.({ journal: bench.journal } as Parts);
  const [a, b] = [bench.make({ op: 1 }), bench.make({ op: 1, view: 2 })];
  bench.put(a);
  bench.finish();
  bench.put(b);
  if (bench.flights.length > 1) bench.finish(1);
  bench.put(a);
  while (!bench.log.isClean(1)) bench.finish();
  const body = bench.disk.get(prepareOffset(GEOMETRY, 1));
  const isThere = body !== undefined && bytesEqual(body, 0, a.bytes, 0, 16);
  assert(isThere, 'Story: what counts as durable is not on the disk');
  bench.finishAll();
  bench.end(a, b);
};
