/**
 * wire: the 256-byte header, the checksum, the framer and the message pool, shared by VSR and by
 * the ledger's client protocol. Reading order: `header` (fields, sealing, checking),
 * `header-rules` (what clients may send), `checksum` (which implementation runs), `pool` and
 * `message` (where bytes live and who holds them), `framer` (from a stream to messages).
 */
export {
  CHECKSUM_EMPTY,
  CHECKSUM_SIZE,
  type Checksum,
  type ChecksumKind,
  type ChecksumOptions,
  createChecksum,
} from './checksum.ts';
export {
  Framer,
  type FramerError,
  type FramerErrorKind,
  type FramerOptions,
  type FramerOutcome,
  type FramerResult,
} from './framer.ts';
export * from './header.ts';
export {
  OPERATION_NOOP,
  OPERATION_RECONFIGURE,
  OPERATION_REGISTER,
  pingClientProblem,
  requestProblem,
} from './header-rules.ts';
export type { Message, SlotClass } from './message.ts';
export { PeerOffset } from './peer-header.ts';
export {
  MessagePool,
  type PoolOptions,
  REPLY_SLOT_SIZE,
  SLOT_ALIGNMENT,
  SMALL_SLOT_SIZE,
} from './pool.ts';
export { createMemory, type WasmMemory } from './webassembly.ts';
