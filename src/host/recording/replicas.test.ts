/** Anybody's machine on either engine is recorded, alone and as three, and replayed. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connectReplica } from '../../client/index.ts';
import { defineMachine } from '../../engine/index.ts';
import { freePorts } from '../free-ports.ts';
import { startReplica } from '../replica/start-replica.ts';
import { replayRecording } from './replay.ts';

const folder = fs.mkdtempSync(join(tmpdir(), 'roundelay-recording-'));
after(() => fs.rmSync(folder, { recursive: true }));

const sums = defineMachine({
  name: 'sums',
  initial: () => ({ total: 0, count: 0 }),
  apply: (state, add: number) => {
    state.count++;
    state.total += add;
    return state.total;
  },
});

/** The same, but for one thing. */
const others = defineMachine({
  name: 'sums',
  initial: () => ({ total: 0, count: 0 }),
  apply: (state, add: number) => {
    state.count++;
    state.total += state.count === 40 ? add + 1 : add;
    return state.total;
  },
});

async function ask(addresses: string, times: number): Promise<void> {
  await using client = await connectReplica({ addresses, machine: sums });
  for (let i = 0; i < times; i++) await client.submit(i);
}

for (const engine of ['vsr', 'raft'] as const) {
  test(`${engine}: one replica, from its first start and from its file`, async () => {
    const directory = join(folder, engine);
    const common = { engine, machine: sums, addresses: '127.0.0.1:0', development: true };
    for (const life of [1, 2]) {
      const record = join(folder, `${engine}-${life}`);
      await using replica = await startReplica({ ...common, directory, record });
      await ask(replica.addresses, 100);
    }
    for (const life of [1, 2]) {
      const path = join(folder, `${engine}-${life}`);
      const report = await replayRecording({ path, machine: sums });
      assert.equal(report.difference, null, report.difference?.text);
      assert.equal(report.end, 'closed');
      assert.equal(report.life?.engine, engine);
      assert.ok(report.steps > 200);
    }
    const path = join(folder, `${engine}-1`);
    const { difference } = await replayRecording({ path, machine: others });
    assert.ok(difference !== null, 'another machine does something else');
    const machine = defineMachine({ name: 'other', initial: () => 0, apply: (state) => state });
    await assert.rejects(replayRecording({ path, machine }), { code: 'ERR_RECORDING_MACHINE' });
  });

  test(`${engine}: three replicas, of which one is away for a while`, async () => {
    const ports = await freePorts(3);
    const addresses = ports.map((port) => `127.0.0.1:${port}`).join(',');
    const recordings: string[] = [];
    const start = (replica: number) => {
      const record = join(folder, `${engine}-of-three-${recordings.length}`);
      recordings.push(record);
      const directory = join(folder, `${engine}-of-three`);
      const common = { engine, machine: sums, addresses, development: true };
      return startReplica({ ...common, replica, directory, record });
    };
    const replicas = await Promise.all([start(0), start(1), start(2)]);
    await ask(addresses, 50);
    await replicas[1].close();
    await ask(addresses, 50);
    const back = await start(1);
    await ask(addresses, 50);
    for (const replica of [replicas[0], replicas[2], back]) await replica.close();
    for (const path of recordings) {
      const report = await replayRecording({ path, machine: sums });
      assert.equal(report.difference, null, report.difference?.text);
      assert.equal(report.end, 'closed');
    }
  });
}
