import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CounterMachine } from '../engine/index.ts';
import { startReplica } from '../host/index.ts';
import { parseAddresses } from '../io/index.ts';
import { freePorts } from './free-ports.ts';
import { recoverReplica } from './recover-replica.ts';

test('a lost file of Raft is not made again: nobody would know that it has forgotten', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'roundelay-recover-'));
  const path = join(folder, 'counter_0_1.raft');
  const list = (await freePorts(3)).map((port) => `127.0.0.1:${port}`).join();
  const machine = (): CounterMachine => new CounterMachine();
  try {
    await using _ = await startReplica({ engine: 'raft', machine, addresses: list, replica: 0 });
    const addresses = parseAddresses(list);
    await assert.rejects(
      recoverReplica({ path, cluster: 0n, replica: 1, addresses, timeoutMs: 1_000 }),
      {
        code: 'ERR_RECOVER_REFUSED',
        message: /runs engine raft, where a lost file cannot be made/,
      },
    );
    assert.equal(existsSync(path), false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
