/** A job queue: each job is lent to one worker at a time, and lent again if it is not finished. */
import { startCluster } from 'roundelay';
import { connectReplica } from 'roundelay/client';
import { defineMachine } from 'roundelay/engine';

interface Job {
  id: number;
  text: string;
  lentUntilMs: number;
}
type Command = { push: string } | { take: number } | { finish: number };

const LOAN_MS = 30_000;
const jobs = defineMachine({
  name: 'jobs',
  initial: () => ({ lastId: 0, open: [] as Job[] }),
  apply: (state, command: Command, { timestampMs }): Job[] => {
    if ('push' in command) {
      state.lastId += 1;
      state.open.push({ id: state.lastId, text: command.push, lentUntilMs: 0 });
      return [];
    }
    if ('finish' in command) {
      state.open = state.open.filter(({ id }) => id !== command.finish);
      return [];
    }
    const free = state.open.filter(({ lentUntilMs }) => lentUntilMs <= timestampMs);
    const taken = free.slice(0, command.take);
    for (const job of taken) job.lentUntilMs = timestampMs + LOAN_MS;
    return taken;
  },
});

await using cluster = await startCluster({ engine: 'vsr', machine: jobs });
await using client = await connectReplica({ addresses: cluster.addresses, machine: jobs });
await Promise.all(['sow', 'water', 'reap'].map((push) => client.submit({ push })));
const [mine, yours] = await Promise.all([client.submit({ take: 2 }), client.submit({ take: 2 })]);
console.log(`${mine.map(({ text }) => text)} for me, ${yours.map(({ text }) => text)} for you`);
for (const { id } of [...mine, ...yours]) await client.submit({ finish: id });
