/**
 * What a Raft log is made of, free of any format: entries, snapshots, and the records of the file
 * that holds them. `T` is the payload of whoever uses this room; the engine hands it around and
 * never looks inside.
 *
 * Terms and indexes are integers from 0 below 2^53. Index 0 and term 0 mean "none". A cluster
 * begins with a snapshot at index 1 (its first state, perhaps empty), so every log starts at 2 or
 * later, and a server with nothing at all (log end 1) can always be told apart from one with a log.
 */

/** Name of a server, unique for ever: a text form of 16 bytes. Never reused after leaving. */
export type ServerId = string;

/** A configuration: server → address. */
export type Servers = ReadonlyMap<ServerId, string>;

/** What an entry says. `size` is in bytes and only serves to limit batches. */
export type Body<T> =
  | { readonly kind: 'noop' }
  | { readonly kind: 'data'; readonly eid: string; readonly data: T; readonly size: number }
  | { readonly kind: 'config'; readonly servers: Servers }
  | { readonly kind: 'timer'; readonly electionTimerMs: number };

export interface Position {
  readonly term: number;
  readonly index: number;
}

/** `eid` names a proposal: chosen by whoever proposes, found again in every log. */
export type Entry<T> = Position & Body<T>;

/** Everything up to and including `index`. */
export interface Snapshot<T> extends Position {
  /** Of the newest data entry in it; null: none. */
  readonly eid: string | null;
  readonly servers: Servers;
  readonly electionTimerMs: number;
  readonly data: T | null;
  readonly size: number;
}

/** A record of the file, after its header. `leader` and `note` are for whoever reads the file. */
export type LogRecord<T> =
  | { readonly type: 'term'; readonly term: number }
  | { readonly type: 'vote'; readonly term: number; readonly vote: ServerId }
  | { readonly type: 'leader'; readonly term: number; readonly leader: ServerId }
  | { readonly type: 'entry'; readonly entry: Entry<T> }
  | { readonly type: 'commit'; readonly index: number }
  | { readonly type: 'note'; readonly note: Note };

/** `left` is for ever: the server was removed and may not come back under this id. */
export type Note = 'left' | 'transfer leadership';

/** Start of a file: of a server that is to join (it knows addresses only), or of any other. */
export type FileHeader<T> =
  | { readonly type: 'joining'; readonly remotes: readonly string[] }
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot<T> };

export function serversEqual(a: Servers, b: Servers): boolean {
  if (a.size !== b.size) return false;
  for (const [id, address] of a) if (b.get(id) !== address) return false;
  return true;
}
