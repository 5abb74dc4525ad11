/**
 * What replicas say to each other besides prepares: one layout for all of it, ours. A field that a
 * command does not name is zero. The frame's `view` is the sender's, `replica` its index.
 *
 * | command | fields | body |
 * |---|---|---|
 * | ping | commitMin, checkpointOp, monotonic (sender's clock), route, bits (1: disk full) | |
 * | pong | commitMin, checkpointOp, monotonic (echo), wall (sender's), bits (1: disk full) | |
 * | prepareOk | op, checksum (of the prepare), commitMin, digest, opHead, bits (received) | |
 * | commit | commitMax, checksum (of that prepare), commitMin, digest, monotonic, checkpointOp | |
 * | startViewChange | | |
 * | doViewChange | op, logView, commitMin, commitMax, checkpointOp, bits, bits2 | headers |
 * | startView | op, commitMax, checkpointOp, nonce | headers |
 * | requestStartView | nonce, op, commitMin | |
 * | requestHeaders | op (lowest), opHead (highest) | |
 * | headers | | headers |
 * | requestPrepare | op, checksum (or zero: whichever the sender holds) | |
 * | hello, helloOk | see `io/peer-hello` | |
 * | raft | see `raft/dialect/frame` | |
 */
export const PeerOffset = {
  op: 128,
  commitMax: 136,
  commitMin: 144,
  checkpointOp: 152,
  logView: 160,
  /** Nanoseconds of the sender's monotonic clock. */
  monotonic: 168,
  /** Nanoseconds since 1970, the sender's wall clock. */
  wall: 176,
  opHead: 184,
  bits: 192,
  bits2: 196,
  checksum: 200,
  nonce: 216,
  /** Online digest of everything up to `commitMin`. */
  digest: 232,
  /** Order of an adaptive route: one byte for each replica. */
  route: 248,
} as const;
