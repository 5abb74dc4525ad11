/** Sentences for what Raft traces; see `trace-text`. */
import type { TraceFields } from './trace-text.ts';

export const raftSentences: { readonly [event: string]: (fields: TraceFields) => string } = {
  'pre-vote': (fields) =>
    `nobody leads in term ${fields['term']} as far as this replica knows: asking the others`,
  election: (fields) => `this replica wants to lead in term ${fields['term']}`,
  'newer-term': (fields) => `term ${fields['term']} has begun`,
  leads: (fields) => `this replica was elected in term ${fields['term']}`,
  primary: (fields) =>
    `this replica leads, and takes requests: view ${fields['view']}, from operation ${fields['op']}`,
  'office-lost': (fields) => `this replica leads no more: view ${fields['view']} is over`,
  'quorum-lost': (fields) =>
    `too few others answer this replica, so it leads no more: term ${fields['term']}`,
  truncate: (fields) =>
    `operations ${fields['index']} to ${Number(fields['end']) - 1} of this log were never ` +
    'committed, and give way to those of the leader',
  snapshot: (fields) => `state as of operation ${fields['op']} written down`,
  compacted: (fields) => `the log begins anew after operation ${fields['index']}`,
  'send-snapshot': (fields) =>
    `replica ${fields['peer']} is too far behind for the log: sending it the state as of ` +
    `operation ${fields['index']}`,
  'install-snapshot': (fields) =>
    `too far behind for the log: taking over the state as of operation ${fields['index']}`,
  restart: () => 'going on from the state that was taken over',
  'snapshot-malformed': (fields) =>
    `replica ${fields['from']} has sent a state that cannot be read`,
  'snapshot-contradicted': (fields) =>
    `replica ${fields['peer']} keeps a log that contradicts the state it was sent`,
  'reply-beyond-log': (fields) =>
    `replica ${fields['peer']} says that it has more than there is: ${fields['index']}`,
  'peer-disk-failed': (fields) => `replica ${fields['peer']} cannot write to its disk`,
  'disk-has-room': () => 'the disk has room again',
  'election-timer': (fields) =>
    `others wait ${fields['electionTimerMs']} ms for a leader before they choose another`,
};
