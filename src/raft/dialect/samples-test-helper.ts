/** Arbitrary entries, records, headers and messages of our dialect, for tests. */
import fc from 'fast-check';
import type { Entry, FileHeader, LogRecord, Servers, Snapshot } from '../entry.ts';
import type { AppendResult, CommandStatus, Msg, RemoveServerReply } from '../message.ts';

type Bytes = Uint8Array;
type Message = Msg<Bytes>;

/** Plain objects, which are equal to what a codec makes. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

const number = fc.oneof(
  fc.constantFrom(0, 1, 0xffff_ffff, 0x1_0000_0000, Number.MAX_SAFE_INTEGER),
  fc.maxSafeNat(),
);
/** Room is left for what follows. */
const place = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER - 1000 });
const id = fc.string({ minLength: 1, maxLength: 16, unit: 'binary' });
const eid = fc.string({ maxLength: 16, unit: 'binary' });
const address = fc.string({ maxLength: 60, unit: 'binary' });
const addresses = fc.array(address, { maxLength: 5 });
const timerMs = fc.integer({ min: 100, max: 600_000 });
const bytes = fc.uint8Array({ maxLength: 200 });

const servers: fc.Arbitrary<Servers> = fc
  .array(fc.tuple(id, address), { maxLength: 5 })
  .map((pairs) => new Map(pairs));

const body = fc.oneof(
  record({ kind: fc.constant('noop' as const) }),
  record({ kind: fc.constant('data' as const), eid, data: bytes }).map((data) => ({
    ...data,
    size: data.data.length,
  })),
  record({
    kind: fc.constant('config' as const),
    servers: servers.filter((map) => map.size > 0),
  }),
  record({ kind: fc.constant('timer' as const), electionTimerMs: timerMs }),
);

export const anyEntry: fc.Arbitrary<Entry<Bytes>> = fc
  .tuple(place, place, body)
  .map(([term, index, said]) => ({ term, index, ...said }));

/** Consecutive, in terms that do not go back. */
export const anyEntries: fc.Arbitrary<readonly Entry<Bytes>[]> = fc
  .tuple(place, place, fc.array(fc.tuple(fc.nat({ max: 2 }), body), { maxLength: 6 }))
  .map(([firstTerm, first, rest]) => {
    let term = firstTerm;
    return rest.map(([step, said], i): Entry<Bytes> => {
      term += step;
      return { term, index: first + i, ...said };
    });
  });

export const anySnapshot: fc.Arbitrary<Snapshot<Bytes>> = record({
  term: number,
  index: number,
  eid: fc.option(eid),
  servers,
  electionTimerMs: timerMs,
  data: fc.option(bytes),
}).map((snapshot) => ({ ...snapshot, size: snapshot.data?.length ?? 0 }));

export const anyRecord: fc.Arbitrary<LogRecord<Bytes>> = fc.oneof(
  record({ type: fc.constant('term' as const), term: number }),
  record({ type: fc.constant('vote' as const), term: number, vote: id }),
  record({ type: fc.constant('leader' as const), term: number, leader: id }),
  record({ type: fc.constant('entry' as const), entry: anyEntry }),
  record({ type: fc.constant('commit' as const), index: number }),
  record({
    type: fc.constant('note' as const),
    note: fc.constantFrom('left' as const, 'transfer leadership' as const),
  }),
);

export const anyHeader: fc.Arbitrary<FileHeader<Bytes>> = fc.oneof(
  record({ type: fc.constant('joining' as const), remotes: addresses }),
  record({ type: fc.constant('snapshot' as const), snapshot: anySnapshot }),
);

const results: readonly AppendResult[] = ['ok', 'inconsistency', 'io-error'];
const statuses: readonly CommandStatus[] = [
  'in-progress',
  'success',
  'not-leader',
  'prerequisite-failed',
  'lost-leadership',
  'shutdown',
  'io-error',
  'timeout',
  'busy',
];

const append: fc.Arbitrary<Message> = fc
  .tuple(anyEntries, place, fc.nat({ max: 3 }), fc.nat({ max: 3 }), number, number)
  .map(([entries, prevIndex, back, ahead, leaderCommit, round]) => {
    const first = entries.at(0);
    return {
      type: 'append-request',
      term: Math.max((entries.at(-1)?.term ?? 1) + ahead, 1),
      prevIndex: first === undefined ? prevIndex : first.index - 1,
      prevTerm: Math.max((first?.term ?? 1) - back, 0),
      leaderCommit,
      entries,
      round,
    };
  });

/** By type, so that no test forgets one. */
export const anyOfType: { readonly [K in Message['type']]: fc.Arbitrary<Message> } = {
  'hello-request': record({ type: fc.constant('hello-request' as const), address }),
  'append-request': append,
  'append-reply': record({
    type: fc.constant('append-reply' as const),
    term: number,
    logEnd: number,
    prevIndex: place,
    prevTerm: number,
    entryCount: fc.nat({ max: 1000 }),
    round: number,
    result: fc.constantFrom(...results),
  }),
  'vote-request': record({
    type: fc.constant('vote-request' as const),
    term: number,
    lastIndex: number,
    lastTerm: number,
    isTransfer: fc.boolean(),
    isPreVote: fc.boolean(),
  }),
  'vote-reply': record({
    type: fc.constant('vote-reply' as const),
    term: number,
    vote: id,
    isPreVote: fc.boolean(),
  }),
  'add-server-request': record({ type: fc.constant('add-server-request' as const), address }),
  'add-server-reply': record({
    type: fc.constant('add-server-reply' as const),
    success: fc.boolean(),
    remotes: addresses,
  }),
  'remove-server-request': record({
    type: fc.constant('remove-server-request' as const),
    server: id,
  }),
  'remove-server-reply': record<RemoveServerReply>({
    type: fc.constant('remove-server-reply' as const),
    success: fc.boolean(),
    target: fc.option(id),
  }),
  'install-snapshot-request': fc.tuple(anySnapshot, number).map(([snapshot, term]) => ({
    type: 'install-snapshot-request',
    term: Math.max(term, snapshot.term),
    snapshot,
  })),
  'install-snapshot-reply': record({
    type: fc.constant('install-snapshot-reply' as const),
    term: number,
    lastIndex: number,
    lastTerm: number,
  }),
  'become-leader': record({ type: fc.constant('become-leader' as const), term: number }),
  'ack-copies-request': record({
    type: fc.constant('ack-copies-request' as const),
    term: number,
  }),
  'execute-command-request': record({
    type: fc.constant('execute-command-request' as const),
    eid,
    data: bytes,
    prerequisite: fc.option(eid),
  }).map((request) => ({ ...request, size: request.data.length })),
  'execute-command-reply': record({
    type: fc.constant('execute-command-reply' as const),
    eid,
    status: fc.constantFrom(...statuses),
    commitIndex: number,
  }),
  'read-index-request': record({
    type: fc.constant('read-index-request' as const),
    read: number,
  }),
  'read-index-reply': record({
    type: fc.constant('read-index-reply' as const),
    read: number,
    success: fc.boolean(),
    index: number,
  }),
};

export const anyMessage: fc.Arbitrary<Message> = fc.oneof(...Object.values(anyOfType));
