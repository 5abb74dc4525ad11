/**
 * raft/dialect: Raft among replicas of our own, as bytes. Reading order: `limits`, `cursor` and
 * `codec` (what a log is made of, on the wire and in files), `message-codec`, `frame`, `dialect`.
 */
export { Assemblies } from './assembly.ts';
export {
  decodeEntries,
  decodeRecord,
  encodeEntries,
  encodeRecord,
  entrySize,
  headerSize,
  readHeader,
  readRecord,
  recordSize,
  writeHeader,
  writeRecord,
} from './codec.ts';
export { appendBytesMax, Dialect, type DialectCounters, type DialectOptions } from './dialect.ts';
export { type Frame, readFrame } from './frame.ts';
export { EID_SIZE_MAX, RAFT_MESSAGE_SIZE_MAX, SNAPSHOT_SIZE_MAX } from './limits.ts';
export { messageSize, readMessage, writeMessage } from './message-codec.ts';
