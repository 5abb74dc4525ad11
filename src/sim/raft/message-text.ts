/** A message between members of a Raft cluster as a part of a line, for traces. */
import { type Entry, type Msg, readFrame, readMessage } from '../../raft/index.ts';
import { HEADER_SIZE, readReplica, readSize } from '../../wire/index.ts';

export function raftText(bytes: Uint8Array): string {
  const frame = readFrame(bytes, readReplica(bytes));
  if (frame === null) return 'raft malformed';
  const size = readSize(bytes);
  const { kind, id, offset, total } = frame;
  const isWhole = kind === 'message' && total === size - HEADER_SIZE;
  const message = isWhole || kind === 'offer' ? readMessage(bytes, HEADER_SIZE, size) : null;
  if (message === null) return `raft ${kind} #${id} at ${offset} of ${total} size ${size}`;
  const text = fieldsText(message);
  return kind === 'offer' ? `raft offer #${id} of ${total} ${text}` : `raft ${text}`;
}

/** Its type and its fields, in the order in which it has them. */
function fieldsText(message: Msg<Uint8Array>): string {
  if (message.type === 'install-snapshot-request') {
    const { term, snapshot } = message;
    return `${message.type} term ${term} last ${snapshot.index}/${snapshot.term}`;
  }
  const fields = Object.entries(message).flatMap(([name, value]) => {
    if (name === 'type' || value === undefined) return [];
    if (name === 'entries') return entriesText(value as readonly Entry<Uint8Array>[]);
    if (value instanceof Uint8Array) return [`${name} ${value.length} bytes`];
    return [`${name} ${String(value)}`];
  });
  return [message.type, ...fields].join(' ');
}

function entriesText(entries: readonly Entry<Uint8Array>[]): readonly string[] {
  return entries.map((entry) => {
    const what = entry.kind === 'data' ? entry.eid : entry.kind;
    return `${entry.index}/${entry.term}:${what}`;
  });
}
