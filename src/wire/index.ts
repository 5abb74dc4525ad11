/**
 * wire: the 256-byte header, the checksum, the framer and the message pool, shared by VSR and by
 * the ledger's client protocol.
 */
export type { Message, SlotClass } from './message.ts';
