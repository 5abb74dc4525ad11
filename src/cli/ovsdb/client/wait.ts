/**
 * `wait`: until a database is there, has joined its cluster, or is gone. The server itself waits,
 * in a transaction; when it cannot be reached, or goes away, it is tried again and again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, jsonEqual } from '../../../ovsdb/json/value.ts';
import { checkTransactionResults } from './backup.ts';
import { tryRpc } from './connection/connect.ts';
import { defaultRemote } from './connection/open-database.ts';
import { ConnectionEnd, type Rpc } from './connection/rpc.ts';
import type { Command } from './context.ts';
import { fatal } from './fatal.ts';
import { hashedText } from './format/json-text.ts';

type State = 'connected' | 'added' | 'removed';

const BACKOFF_MIN_MS = 1000;
const BACKOFF_MAX_MS = 8000;

export const wait: Command = async (context, { args }) => {
  const [database, state] = args.slice(-2) as [string, string];
  if (state !== 'connected' && state !== 'added' && state !== 'removed') {
    fatal(`${state}: unknown state`);
  }
  const remote = args.length > 2 ? (args[0] as string) : defaultRemote();
  for (let backoffMs = 0; ; backoffMs = nextBackoff(backoffMs)) {
    await sleep(backoffMs);
    const rpc = await tryRpc(context, remote);
    if (rpc === null) continue;
    backoffMs = 0;
    if (await waitedThere(rpc, database, state as State)) return;
  }
};

function nextBackoff(ms: number): number {
  return Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, ms * 2));
}

/** False: the connection ended first. */
async function waitedThere(rpc: Rpc, database: string, state: State): Promise<boolean> {
  const awareId = rpc.request('set_db_change_aware', [true]);
  const waitId = rpc.request('transact', ['_Server', waitOperation(database, state)]);
  try {
    for (;;) {
      const message = await rpc.receive();
      if (message.kind !== 'reply' && message.kind !== 'error') continue;
      if (message.kind === 'error' && jsonEqual(message.id, awareId)) {
        fatal(`${rpc.name}: set_db_change_aware failed (${hashedText(message.content)})`);
      }
      if (!jsonEqual(message.id, waitId)) continue;
      checkTransactionResults(message.kind === 'reply' ? message.content : null);
      rpc.close();
      return true;
    }
  } catch (error) {
    if (error instanceof ConnectionEnd) return false;
    throw error;
  }
}

function waitOperation(database: string, state: State): Json {
  const common = {
    op: 'wait',
    table: 'Database',
    where: [['name', '==', database]],
    until: '==',
  };
  if (state === 'connected')
    return { ...common, columns: ['connected'], rows: [{ connected: true }] };
  return { ...common, columns: [], rows: state === 'added' ? [{}] : [] };
}
