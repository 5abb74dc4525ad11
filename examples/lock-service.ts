/**
 * Locks with fencing tokens: a lock is lent for a time, and every loan has a higher number than the
 * one before, so that whoever guards a resource can refuse a holder that has been overtaken.
 */
import { startCluster } from 'roundelay';
import { connectReplica } from 'roundelay/client';
import { defineMachine } from 'roundelay/engine';

type Command =
  | { do: 'acquire'; lock: string; owner: string; forMs: number }
  | { do: 'release'; lock: string; token: number };

const locks = defineMachine({
  name: 'locks',
  initial: () => ({ tokens: 0, held: new Map<string, { token: number; untilMs: number }>() }),
  apply: (state, command: Command, { timestampMs }) => {
    const holder = state.held.get(command.lock);
    if (command.do === 'release') {
      const isHolder = holder?.token === command.token;
      if (isHolder) state.held.delete(command.lock);
      return isHolder ? command.token : 0;
    }
    // Time is the cluster's, the same on every replica: the machine has no clock of its own.
    if (holder !== undefined && timestampMs < holder.untilMs) return 0;
    state.tokens += 1;
    state.held.set(command.lock, { token: state.tokens, untilMs: timestampMs + command.forMs });
    return state.tokens;
  },
});

await using cluster = await startCluster({ engine: 'raft', machine: locks });
await using client = await connectReplica({ addresses: cluster.addresses, machine: locks });
const first = await client.submit({ do: 'acquire', lock: 'disk', owner: 'a', forMs: 60_000 });
const second = await client.submit({ do: 'acquire', lock: 'disk', owner: 'b', forMs: 60_000 });
await client.submit({ do: 'release', lock: 'disk', token: first });
const third = await client.submit({ do: 'acquire', lock: 'disk', owner: 'b', forMs: 60_000 });
console.log(`a has token ${first}, b was told ${second}, then got token ${third}`);
