/** A key-value store with compare-and-set, whose changes can be watched on any replica. */
import { startCluster } from 'roundelay';
import { connectReplica } from 'roundelay/client';
import { defineMachine } from 'roundelay/engine';

const store = defineMachine({
  name: 'settings',
  initial: () => new Map<string, string>(),
  apply: (state, { key, from, to }: { key: string; from: string | null; to: string }) => {
    if ((state.get(key) ?? null) !== from) return false;
    state.set(key, to);
    return true;
  },
  query: (state, key: string) => state.get(key) ?? null,
});

await using cluster = await startCluster({ engine: 'vsr', machine: store });
const seen = Promise.withResolvers<void>();
cluster.replicas[2].on('applied', ({ command, result }) => {
  if (!result) return;
  console.log(`replica 2 sees ${command.key} = ${command.to}`);
  if (command.to === 'dark') seen.resolve();
});

await using client = await connectReplica({ addresses: cluster.addresses, machine: store });
await client.submit({ key: 'theme', from: null, to: 'light' });
console.log(`too late: ${await client.submit({ key: 'theme', from: null, to: 'pink' })}`);
await client.submit({ key: 'theme', from: 'light', to: 'dark' });
console.log(`theme is ${await client.query('theme')}`);
await seen.promise;
