/**
 * A fresh data file: a generation that holds the snapshot every log of the cluster begins with, and
 * the head. The head comes last, so that a file whose format was cut short is not a data file.
 */
import { RAFT_REPLICAS_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { assert, isZero } from '../../stdx/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { FileHeader } from '../entry.ts';
import { Chain } from './chain.ts';
import { Extents } from './extents.ts';
import { copiesOf, encodeRaftHead } from './head-codec.ts';
import {
  RAFT_HEAD_COPY_SIZE,
  RAFT_HEAD_SIZE,
  type RaftGeometry,
  raftGeometryProblem,
} from './layout.ts';
import { StreamSource } from './stream-source.ts';

export interface RaftFormatOptions {
  /** 16 bytes; zero is allowed. */
  readonly cluster: Uint8Array;
  readonly replica: number;
  readonly replicaCount: number;
  /** 16 random bytes, not zero: a file made again for the same index is another replica. */
  readonly replicaId: Uint8Array;
  readonly geometry: RaftGeometry;
  readonly release: number;
  /** Of the cluster, until its log says otherwise. */
  readonly electionTimerMs: number;
}

/** One write of a fresh file; both numbers are multiples of 4096. */
export interface RaftFormatWrite {
  readonly offset: number;
  /** The receiver's own. */
  readonly bytes: Uint8Array;
}

/** Generation and sequence of a fresh file's first head; there are two heads from the start. */
const FIRST = 1;

/** Yields the writes of a fresh file in order; what is not written need not exist. */
export function* formatRaftFile(
  options: RaftFormatOptions,
  checksum: Checksum,
): Generator<RaftFormatWrite, void, void> {
  const { geometry, replicaCount, replicaId } = options;
  assert(raftGeometryProblem(geometry) === null, 'formatRaftFile: bad geometry');
  assert(replicaCount >= 1 && replicaCount <= RAFT_REPLICAS_MAX, 'formatRaftFile: replicas');
  assert(!isZero(replicaId, 0, 16), 'formatRaftFile: replica id is zero');
  const chainOptions = { geometry, file: replicaId, checksum, extents: new Extents() };
  const chain = Chain.begin(chainOptions, FIRST);
  const source = new StreamSource();
  source.addHeader(1, firstHeader(options), []);
  while (source.has(1)) {
    const buffer = new Uint8Array(geometry.extentSize);
    const frame = chain.cut(source, 1, buffer, { head: FIRST, durable: 0 });
    assert(frame !== null, 'formatRaftFile: nothing to write');
    yield { offset: frame.offset, bytes: frame.bytes };
  }
  for (const sequence of [FIRST, FIRST + 1]) {
    const head = {
      sequence,
      release: options.release,
      cluster: options.cluster,
      replicaId,
      replica: options.replica,
      replicaCount,
      geometry,
      generation: FIRST,
      firstExtent: chain.firstExtent,
      frames: chain.number,
    };
    for (const copy of copiesOf(sequence)) {
      const bytes = new Uint8Array(RAFT_HEAD_COPY_SIZE);
      encodeRaftHead(head, bytes, checksum);
      yield { offset: copy * RAFT_HEAD_COPY_SIZE, bytes };
    }
  }
}

/** All members from the beginning; a replica finds the others by its configuration. */
function firstHeader({ replicaCount, electionTimerMs }: RaftFormatOptions): FileHeader<Uint8Array> {
  const servers = new Map<string, string>();
  for (let i = 0; i < replicaCount; i++) servers.set(String(i), '');
  const place = { index: 1, term: 1, eid: null };
  return {
    type: 'snapshot',
    snapshot: { ...place, servers, electionTimerMs, data: null, size: 0 },
  };
}

assert(RAFT_HEAD_SIZE % SECTOR_SIZE === 0);
