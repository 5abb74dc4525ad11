/**
 * The same bytes to the real ovsdb-server and to ours, by sockets: several sessions with monitors
 * of all kinds, locks, waits and nonsense get the same frames, but for what `allowances` lists.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeUtf8 } from '../src/ovsdb/index.ts';
import { workloadSchema } from '../src/ovsdb/transact/workload-test-helper.ts';
import {
  allowanceFor,
  type Difference,
  messageOf,
  rowsDifference,
} from './ovsdb-peer/allowances.ts';
import { peerMissing } from './ovsdb-peer/peer.ts';
import { startBoth } from './ovsdb-peer/sides.ts';
import { differenceOf, Player } from './ovsdb-peer/wire-player.ts';
import { WireWorkload } from './ovsdb-peer/wire-workload.ts';

const skip = peerMissing();
const WORLDS = Number(process.env['OVSDB_WORLDS'] ?? 40);
const STEPS = Number(process.env['OVSDB_STEPS'] ?? 100);
const SEED = Number(process.env['OVSDB_SEED'] ?? 1);
/** Steps between comparisons of all rows. */
const DUMP_EVERY = 5;

/** What happened in all worlds. */
interface Tally {
  steps: number;
  transactions: number;
  updates: number;
  parted: number;
  readonly allowed: Map<string, number>;
}

async function playWorld(seed: number, tally: Tally): Promise<void> {
  const sides = await startBoth(workloadSchema);
  const players = sides.map((side) => new Player(side)) as unknown as readonly [Player, Player];
  const controls = (await Promise.all(sides.map((side) => side.connect()))) as unknown as [
    Difference['controls'][0],
    Difference['controls'][1],
  ];
  try {
    const workload = new WireWorkload(seed);
    for (let i = 0; i < STEPS; i++) {
      const step = workload.next((name) => players[0].hasSession(name));
      const [theirs, ours] = await Promise.all([players[0].play(step), players[1].play(step)]);
      const message = 'bytes' in step ? messageOf(step.bytes) : null;
      tally.steps += 1;
      if (message?.['method'] === 'transact') tally.transactions += 1;
      tally.updates += [...theirs.values()].flatMap(({ texts }) => texts).filter(isUpdate).length;
      let shown = differenceOf(theirs, ours);
      if (shown !== null || i % DUMP_EVERY === 0) {
        // 3.1.0 does not survive everything that the workload thinks of; ours must.
        assert.equal(await controls[1].sync(), null, `seed ${seed}, step ${i}: ours is gone`);
        if ((await controls[0].sync()) !== null) {
          count(tally, 'the original has ended itself');
          tally.parted += 1;
          break;
        }
        shown ??= await rowsDifference(controls);
      }
      if (shown === null) continue;
      const difference = { message, session: step.session, theirs, ours, controls };
      const allowance = await allowanceFor(difference);
      const sent = 'bytes' in step ? decodeUtf8(step.bytes) : step.kind;
      assert.ok(allowance, `seed ${seed}, step ${i}, session ${step.session}: ${sent}\n${shown}`);
      count(tally, allowance.reason);
      if (!allowance.isParting) continue;
      tally.parted += 1;
      break;
    }
  } finally {
    for (const player of players) player.stop();
    for (const control of controls) control.destroy();
    await Promise.all(sides.map((side) => side.stop()));
  }
}

function count({ allowed }: Tally, reason: string): void {
  allowed.set(reason, (allowed.get(reason) ?? 0) + 1);
}

function isUpdate(text: string): boolean {
  return /"method":"update/.test(text);
}

test('random lives of sessions: the frames of the original', { skip }, async (t) => {
  const tally: Tally = { steps: 0, transactions: 0, updates: 0, parted: 0, allowed: new Map() };
  for (let seed = SEED; seed < SEED + WORLDS; seed++) await playWorld(seed, tally);
  t.diagnostic(
    `${tally.steps} steps, ${tally.transactions} transactions, ${tally.updates} updates,` +
      ` ${tally.parted} of ${WORLDS} worlds parted`,
  );
  for (const [reason, times] of tally.allowed) t.diagnostic(`${times} × ${reason}`);
  assert.ok(tally.steps > (WORLDS * STEPS) / 2, 'worlds part too early');
  assert.ok(tally.updates > tally.steps / 10, 'monitors hardly ever say anything');
});
