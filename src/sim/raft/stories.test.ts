/**
 * Stories of Raft clusters, each a coincidence that seeds rarely come to, with the bug that it
 * would bring to light.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Parts } from '../../raft/index.ts';
import { PLANTS } from '../../raft/plants-test-helper.ts';
import { Script } from '../script/script.ts';
import { counterSubject } from '../subjects/subjects.ts';
import { raftSetup } from './setup.ts';
import { raftQuorums } from './swarm.ts';

type Plant = (parts: Parts<Uint8Array>) => void;

const CLIENTS = 20;

function begin(plant: Plant | null, snapshotBytesMin: number): Script {
  const policy = { electionTimerMs: 200, electionRandomMs: 200 };
  const onParts = plant === null ? {} : { onParts: plant };
  const setup = { replicaCount: 3, snapshotBytesMin, policy, ...onParts };
  const script = new Script({
    replicaCount: 3,
    engine: (replica) => raftSetup({ ...setup, replica }),
    quorums: raftQuorums(3),
    subject: counterSubject,
    clients: CLIENTS,
    ...(process.env['TRACE'] === undefined ? {} : { trace: console.log }),
  });
  script.open();
  for (let client = 0; client < CLIENTS; client++) script.request(1, client);
  script.run();
  script.expectAnswered();
  return script;
}

/** Who led takes a snapshot whose index its own log has too, with another entry there. */
function replacedBySnapshot(plant: Plant | null): void {
  const script = begin(plant, 20_000);
  const old = script.primary;
  const { op } = script.progress(old);
  const end = script.isolate(old);
  // Half of the requests nobody but the old leader has.
  const drops = script.others(old).map((to) => script.drop({ from: 'client', to }));
  for (let client = 0; client < CLIENTS / 2; client++) script.request(1, client);
  script.until(() => script.progress(old).op === op + CLIENTS / 2);
  for (const again of drops) again();
  for (let client = CLIENTS / 2; client < CLIENTS; client++) script.request(1, client);
  script.until(() => script.progress(old).op === op + CLIENTS);
  script.until(() => script.count('compacted') > 0);
  const next = script.primary;
  assert.ok(next !== old && script.progress(next).op < op + CLIENTS, script.describe());
  end();
  script.run();
  assert.ok(script.count('install-snapshot') > 0, 'no snapshot was taken');
  script.end();
}

test('a log that a snapshot contradicts goes, however long it is', () => {
  replacedBySnapshot(null);
  assert.throws(
    () => replacedBySnapshot(PLANTS['snapshot and log of different histories']),
    /^SimulationFailure: not-durable: .* install-snapshot-reply /,
  );
});
