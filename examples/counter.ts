/** A counter, replicated three times. Change `vsr` to `raft`: nothing else changes. */
import { startCluster } from 'roundelay';
import { connectReplica } from 'roundelay/client';
import { defineMachine } from 'roundelay/engine';

const counter = defineMachine({
  name: 'counter',
  initial: () => ({ total: 0 }),
  apply: (state, command: { add: number }) => {
    state.total += command.add;
    return state.total;
  },
});

const engine = process.argv[2] === 'raft' ? 'raft' : 'vsr';
await using cluster = await startCluster({ engine, machine: counter, replicas: 3 });
await using client = await connectReplica({ addresses: cluster.addresses, machine: counter });

await client.submit({ add: 40 });
await cluster.replicas[0].close(); // one of three is gone, perhaps the leader
console.log(`total ${await client.submit({ add: 2 })}`);
