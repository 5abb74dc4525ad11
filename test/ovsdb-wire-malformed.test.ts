/**
 * Wrong messages: what the original closes a connection over, ours does too, what it answers, ours
 * answers the same; and nobody else is harmed.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { decodeUtf8, encodeUtf8 } from '../src/ovsdb/index.ts';
import { workloadSchema } from '../src/ovsdb/transact/workload-test-helper.ts';
import { allowanceFor, messageOf } from './ovsdb-peer/allowances.ts';
import { malformedMessages } from './ovsdb-peer/malformed.ts';
import { Mutants } from './ovsdb-peer/mutants.ts';
import { peerMissing } from './ovsdb-peer/peer.ts';
import { type Side, startBoth, startOriginal, startOurs } from './ovsdb-peer/sides.ts';
import { differenceOf, Player, type Step } from './ovsdb-peer/wire-player.ts';
import type { WireSession } from './ovsdb-peer/wire-session.ts';

const skip = peerMissing();
const MUTANTS = Number(process.env['OVSDB_MUTANTS'] ?? 1500);
const SEED = Number(process.env['OVSDB_SEED'] ?? 1);

async function closesOverEach(t: TestContext, side: Side): Promise<void> {
  t.after(() => side.stop());
  const other = await side.connect();
  t.after(() => other.destroy());
  for (const message of malformedMessages) {
    const session = await side.connect();
    session.write(encodeUtf8(message));
    assert.equal(await session.sync(), 'closed', message);
    assert.deepEqual(session.take(), [], message);
    assert.equal(await other.sync(), null, `another session is gone: ${message}`);
  }
}

test('malformed messages close their connection and no other', async (t) => {
  await closesOverEach(t, await startOurs('ours', workloadSchema));
});

test('the original closes over the same messages', { skip }, async (t) => {
  await closesOverEach(t, await startOriginal('theirs', workloadSchema));
});

/** `depth` arrays around nothing, beside the object that holds them. */
const nested = (depth: number): string =>
  `{"id":1,"method":"echo","params":${'['.repeat(depth)}${']'.repeat(depth)}}`;

test('values may be nested as deep as the original takes them, and no deeper', {
  skip,
}, async (t) => {
  const sides = await startBoth(workloadSchema);
  for (const side of sides) t.after(() => side.stop());
  for (const depth of [1, 900, 990, 997, 998, 999, 1000, 1001, 1002, 2000, 20_000]) {
    const endings = await Promise.all(
      sides.map(async (side) => {
        const session = await side.connect();
        session.write(nested(depth));
        const ending = await session.sync();
        session.destroy();
        return ending;
      }),
    );
    assert.equal(endings[1], endings[0], `${depth} deep`);
  }
});

/** Two servers and the sessions on them; begun anew when the original has ended itself. */
class Pair {
  readonly sides: readonly [Side, Side];
  readonly players: readonly [Player, Player];
  readonly controls: readonly [WireSession, WireSession];

  private constructor(sides: Pair['sides'], controls: Pair['controls']) {
    this.sides = sides;
    this.players = [new Player(sides[0]), new Player(sides[1])];
    this.controls = controls;
  }

  static async start(): Promise<Pair> {
    const sides = await startBoth(workloadSchema);
    return new Pair(sides, [await sides[0].connect(), await sides[1].connect()]);
  }

  async stop(): Promise<void> {
    for (const player of this.players) player.stop();
    for (const control of this.controls) control.destroy();
    await Promise.all(this.sides.map((side) => side.stop()));
  }

  /** `null`: nothing differs, or why it may. */
  async play(step: Step): Promise<string | null> {
    const [theirs, ours] = await Promise.all(this.players.map((player) => player.play(step)));
    assert.ok(theirs !== undefined && ours !== undefined);
    const shown = differenceOf(theirs, ours);
    if (shown === null) return null;
    const sent = 'bytes' in step ? step.bytes : null;
    const message = sent === null ? null : messageOf(sent);
    const { controls } = this;
    // The loop begins anew then.
    if ((await controls[0].sync()) !== null) return 'the original says no more';
    const difference = { message, session: step.session, theirs, ours, controls };
    const allowance = await allowanceFor(difference);
    assert.ok(allowance !== null, `${sent === null ? step.kind : decodeUtf8(sent)}\n${shown}`);
    return allowance.reason;
  }
}

test('mutated messages get the same answers', { skip }, async (t) => {
  let pair = await Pair.start();
  t.after(() => pair.stop());
  const mutants = new Mutants(SEED);
  const allowed = new Map<string, number>();
  const count = (reason: string): void => {
    allowed.set(reason, (allowed.get(reason) ?? 0) + 1);
  };
  for (let i = 0; i < MUTANTS; i++) {
    if (!pair.players[0].hasSession('s')) {
      assert.equal(await pair.controls[1].sync(), null, 'ours is gone');
      if ((await pair.controls[0].sync()) !== null) {
        count('the original has ended itself');
        await pair.stop();
        pair = await Pair.start();
      }
      await pair.play({ kind: 'open', session: 's' });
    }
    const { bytes, id } = mutants.next();
    // Of bytes the server may be waiting for more: then the end of the connection is the answer.
    const reason = await pair.play({ kind: id === null ? 'last' : 'send', session: 's', bytes });
    if (reason !== null) count(reason);
  }
  for (const [reason, times] of allowed) t.diagnostic(`${times} × ${reason}`);
});
