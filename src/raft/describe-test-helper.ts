/** Effects, entries and records in a few words, for transcripts. */
import type { Effect } from './effect.ts';
import type { Entry, LogRecord } from './entry.ts';
import type { Msg } from './message.ts';
import type { Payload } from './node-test-helper.ts';

/** `index/term` and what it says. */
export function entryText(entry: Entry<Payload>): string {
  const at = `${entry.index}/${entry.term}`;
  switch (entry.kind) {
    case 'noop':
      return `${at} noop`;
    case 'data':
      return `${at} ${entry.eid}`;
    case 'config':
      return `${at} {${[...entry.servers.keys()].join(',')}}`;
    case 'timer':
      return `${at} timer ${entry.electionTimerMs}`;
  }
}

export function recordText(record: LogRecord<Payload>): string {
  switch (record.type) {
    case 'entry':
      return entryText(record.entry);
    case 'term':
      return `term ${record.term}`;
    case 'vote':
      return `term ${record.term} vote ${record.vote}`;
    case 'leader':
      return `term ${record.term} leader ${record.leader}`;
    case 'commit':
      return `commit ${record.index}`;
    case 'note':
      return `note ${record.note}`;
  }
}

/** After the server's name; null: not worth a line. */
export function describe(
  effect: Effect<Payload>,
  nameOf: (token: number) => string,
): string | null {
  switch (effect.type) {
    case 'append':
      return `: write ${effect.records.map(recordText).join(', ')}`;
    case 'replace-file':
      return `: new file ${['header', ...effect.records.map(recordText)].join(', ')}`;
    case 'send': {
      const to = effect.peer ?? `(${effect.address})`;
      const text = messageText(effect.message);
      return text === null ? null : ` > ${to}: ${text}`;
    }
    case 'deliver':
      return `: apply ${entryText(effect.entry)}`;
    case 'deliver-snapshot':
      return `: restore ${effect.snapshot.index}/${effect.snapshot.term}`;
    case 'want-snapshot':
      return ': wants a snapshot';
    case 'complete':
      return `: ${nameOf(effect.command)} is ${effect.status}${at(effect.index)}`;
    case 'read-ready':
      return `: read ${nameOf(effect.read)} ${readText(effect.success, effect.index)}`;
    case 'request-sync':
    case 'connect':
    case 'disconnect':
    case 'set-timer':
    case 'status-changed':
    case 'trace':
      return null;
  }
}

function messageText(message: Msg<Payload>): string | null {
  switch (message.type) {
    case 'hello-request':
      return null;
    case 'append-request': {
      const { term, prevIndex, prevTerm, leaderCommit, entries } = message;
      const what = entries.map(entryText).join(', ');
      return `append term=${term} prev=${prevIndex}/${prevTerm} commit=${leaderCommit} [${what}]`;
    }
    case 'append-reply': {
      const { result, comment, term, logEnd, prevIndex, entryCount } = message;
      const why = result === 'ok' ? '' : ` (${comment})`;
      return `${result}${why} term=${term} to ${prevIndex}+${entryCount} end=${logEnd}`;
    }
    case 'ack-copies-request':
      return `acks here, too? term=${message.term}`;
    case 'vote-request': {
      const { isPreVote, isTransfer, term, lastIndex, lastTerm } = message;
      const kind = isPreVote ? 'pre-vote?' : isTransfer ? 'vote at once?' : 'vote?';
      return `${kind} term=${term} last=${lastIndex}/${lastTerm}`;
    }
    case 'vote-reply':
      return `${message.isPreVote ? 'pre-vote' : 'vote'} for ${message.vote} term=${message.term}`;
    case 'add-server-request':
      return 'add me?';
    case 'add-server-reply':
      return ['add', outcome(message), ...message.remotes].join(' ');
    case 'remove-server-request':
      return `remove ${message.server}?`;
    case 'remove-server-reply': {
      const whom = message.target ?? 'you';
      return `remove ${whom} ${outcome(message)}`;
    }
    case 'install-snapshot-request': {
      const { index, term } = message.snapshot;
      return `snapshot term=${message.term} last=${index}/${term}`;
    }
    case 'install-snapshot-reply':
      return `snapshot taken term=${message.term} last=${message.lastIndex}/${message.lastTerm}`;
    case 'become-leader':
      return `lead! term=${message.term}`;
    case 'execute-command-request':
      return ['do', message.eid, ...after(message.prerequisite)].join(' ');
    case 'execute-command-reply': {
      return `${message.eid} is ${message.status}${at(message.commitIndex)}`;
    }
    case 'read-index-request':
      return 'read?';
    case 'read-index-reply':
      return `read ${readText(message.success, message.index)}`;
  }
}

const at = (index: number): string => (index > 0 ? ` at ${index}` : '');

const readText = (success: boolean, index: number): string =>
  success ? `as of ${index}` : 'refused';

const after = (eid: string | null): readonly string[] => (eid === null ? [] : ['after', eid]);

const outcome = (reply: { readonly success: boolean; readonly comment?: string }): string =>
  `${reply.success ? 'done' : 'refused'} (${reply.comment})`;
