/** Raft in words: for people, and as keys by which equal things are found to be equal. */
import type { Entry, FileHeader, LogRecord, Msg, Snapshot } from '../../../raft/index.ts';

/** Of a command: its name. Of a snapshot: the names of all commands in it. */
export type Payload = readonly string[];

/** `found`: the session with the sender is lost and was made anew. */
export type RaftLetter = Msg<Payload> | { readonly type: 'session-lost' };

/** All that a message says, but for prose. */
export function letterText(letter: RaftLetter): string {
  return JSON.stringify(letter, (key, value: unknown) => {
    if (key === 'comment') return undefined;
    return value instanceof Map ? [...value] : value;
  });
}

/** Without its index. */
export function entryText(entry: Entry<Payload>): string {
  return `${entry.term}${entry.kind === 'data' ? ` ${entry.eid}` : ` ${entry.kind}`}`;
}

export function snapshotText({ index, term, data }: Snapshot<Payload>): string {
  return `${index}@${term}[${data?.join() ?? ''}]`;
}

export function recordText(record: LogRecord<Payload> | FileHeader<Payload>): string {
  switch (record.type) {
    case 'term':
      return `term ${record.term}`;
    case 'vote':
      return `vote ${record.term} ${record.vote}`;
    case 'leader':
      return `leader ${record.term}`;
    case 'entry':
      return `${record.entry.index}: ${entryText(record.entry)}`;
    case 'commit':
      return `commit ${record.index}`;
    case 'note':
      return record.note;
    case 'joining':
      return 'joining';
    case 'snapshot':
      return snapshotText(record.snapshot);
  }
}

export function describeLetter(letter: RaftLetter): string {
  switch (letter.type) {
    case 'session-lost':
      return 'news that the session was lost';
    case 'vote-request': {
      const name = letter.isPreVote ? 'pre-vote request' : 'vote request';
      return `${name} (term ${letter.term}, log to ${letter.lastIndex}@${letter.lastTerm})`;
    }
    case 'vote-reply': {
      const name = letter.isPreVote ? 'pre-vote' : 'vote';
      return `${name} for ${letter.vote} in term ${letter.term}`;
    }
    case 'append-request': {
      const entries = letter.entries.map((entry) => `${entry.index}: ${entryText(entry)}`);
      const after = `after ${letter.prevIndex}@${letter.prevTerm}`;
      const what = `[${entries.join('; ')}] ${after}, commit ${letter.leaderCommit}`;
      return `append (term ${letter.term}, ${what})`;
    }
    case 'append-reply': {
      const last = letter.prevIndex + letter.entryCount;
      const what =
        letter.result === 'ok' ? `has ${last}` : `${letter.result}, end ${letter.logEnd}`;
      return `append reply (term ${letter.term}, ${what})`;
    }
    case 'install-snapshot-request':
      return `snapshot ${snapshotText(letter.snapshot)} (term ${letter.term})`;
    case 'install-snapshot-reply':
      return `snapshot reply (term ${letter.term}, to ${letter.lastIndex})`;
    default:
      return letter.type;
  }
}
