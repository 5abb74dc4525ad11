/**
 * A cluster that is made up: files that say what a test wants, and the messages to go with them.
 */
import type { Entry, FileHeader, LogRecord, Msg } from '../../raft/index.ts';
import type { AuditParts } from '../checks/cluster-audit.ts';
import { History } from '../checks/history.ts';
import type { ReadFile } from '../engine-setup.ts';
import { TallyMachine } from '../subjects/tally-test-helper.ts';
import { World } from '../world/world.ts';
import { RaftAudit } from './audit.ts';
import type { RaftFileContent } from './files.ts';

type Position = readonly [index: number, term: number];
type Told = readonly [index: number, term: number, eid?: string];
type Message = Msg<Uint8Array>;

/** A noop; with a name: something that a client wants. */
function entryOf([index, term, eid]: Told): Entry<Uint8Array> {
  if (eid === undefined) return { index, term, kind: 'noop' };
  const data = new Uint8Array(256);
  return { index, term, kind: 'data', eid, data, size: data.length };
}

export const createMessage = {
  append: (
    term: number,
    [prevIndex, prevTerm]: Position,
    entries: readonly Told[],
    leaderCommit: number,
  ): Message => ({
    type: 'append-request',
    term,
    prevIndex,
    prevTerm,
    leaderCommit,
    entries: entries.map(entryOf),
    round: 0,
  }),
  ack: (term: number, prevIndex: number, entryCount: number): Message => ({
    type: 'append-reply',
    term,
    logEnd: prevIndex + entryCount + 1,
    prevIndex,
    prevTerm: 1,
    entryCount,
    round: 0,
    result: 'ok',
  }),
  candidate: (term: number, lastIndex: number, lastTerm: number): Message => ({
    type: 'vote-request',
    term,
    lastIndex,
    lastTerm,
    isTransfer: false,
    isPreVote: false,
  }),
  vote: (term: number, candidate: number): Message => ({
    type: 'vote-reply',
    term,
    vote: String(candidate),
    isPreVote: false,
  }),
  snapshot: (term: number, index: number, lastTerm: number): Message => ({
    type: 'install-snapshot-request',
    term,
    snapshot: snapshotOf(index, lastTerm),
  }),
  installed: (term: number, lastIndex: number, lastTerm: number): Message => ({
    type: 'install-snapshot-reply',
    term,
    lastIndex,
    lastTerm,
  }),
};

function snapshotOf(index: number, term: number) {
  const servers = new Map([0, 1, 2].map((member) => [String(member), '']));
  return { index, term, eid: null, servers, electionTimerMs: 1000, data: null, size: 0 };
}

/** All of it is durable. */
export class MadeUpFile {
  version: number = 0;
  #header: FileHeader<Uint8Array> = { type: 'snapshot', snapshot: snapshotOf(1, 1) };
  #entries: Entry<Uint8Array>[] = [];
  #term: number = 0;
  #vote: number | null = null;

  get content(): RaftFileContent {
    const [term, vote] = [this.#term, this.#vote];
    const said: LogRecord<Uint8Array> =
      vote === null ? { type: 'term', term } : { type: 'vote', term, vote: String(vote) };
    const entries = this.#entries.map((entry) => ({ type: 'entry', entry }) as const);
    return { header: this.#header, records: [...entries, said] };
  }

  term(term: number, vote: number | null): this {
    this.#term = term;
    return this.vote(vote);
  }

  vote(vote: number | null): this {
    this.#vote = vote;
    return this.#changed();
  }

  entry(index: number, term: number): this {
    this.#entries.push(entryOf([index, term]));
    return this.#changed();
  }

  cutTo(index: number): this {
    this.#entries = this.#entries.filter((entry) => entry.index <= index);
    return this.#changed();
  }

  snapshot(index: number, term: number): this {
    this.#header = { type: 'snapshot', snapshot: snapshotOf(index, term) };
    this.#entries = this.#entries.filter((entry) => entry.index > index);
    return this.#changed();
  }

  /** As it was when it was formatted. */
  reset(): this {
    return this.snapshot(1, 1).cutTo(1).term(0, null);
  }

  #changed(): this {
    this.version++;
    return this;
  }
}

export interface Scene {
  readonly audit: RaftAudit;
  readonly file: (replica: number) => MadeUpFile;
  /** A new life begins. */
  readonly lives: (replica: number) => void;
  readonly says: (from: number, to: number, message: Message) => void;
}

export function scene(replicaCount: number): Scene {
  const world = new World({ seed: 1 });
  const history = new History(world, new TallyMachine());
  const files = Array.from({ length: replicaCount }, () => new MadeUpFile());
  const reads = files.map((): ReadFile => () => new Uint8Array(0));
  const lives = files.map(() => 1);
  const readOf = (replica: number): ReadFile => reads[replica] as ReadFile;
  const parts: AuditParts = {
    world,
    history,
    replicaCount,
    quorum: Math.floor(replicaCount / 2) + 1,
    file: readOf,
    durable: readOf,
    durableVersion: (replica) => (files[replica] as MadeUpFile).version,
    isRotting: false,
  };
  const audit = new RaftAudit(parts, (read) => (files[reads.indexOf(read)] as MadeUpFile).content);
  return {
    audit,
    file: (replica: number): MadeUpFile => files[replica] as MadeUpFile,
    lives: (replica: number): void => {
      lives[replica]!++;
    },
    says: (from: number, to: number, message: Message): void => {
      audit.onMessage(from, lives[from] as number, to, message);
    },
  };
}
