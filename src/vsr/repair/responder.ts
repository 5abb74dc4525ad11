/**
 * Answers other replicas' repairs: prepares from memory or from the log on disk, headers from
 * memory. Silence is an answer too: there is no "I do not have it", the asker asks somebody else.
 */
import { bytesEqual, isZero } from '../../stdx/index.ts';
import { Command, HEADER_SIZE, type Message, PeerOffset, readView } from '../../wire/index.ts';
import { JOURNAL_READS_MAX } from '../log/journal.ts';
import type { Parts } from '../parts.ts';
import { buildPeerMessage, HEADERS_PER_MESSAGE_MAX, peerNumber } from '../peer-message.ts';

/** Of the reads from the log these are never used for others: commits must not starve. */
const READS_RESERVED: number = JOURNAL_READS_MAX / 2;
/** Messages that one request for headers is answered with, at most. */
export const HEADER_MESSAGES_MAX = 8;

export class Responder {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  onRequestPrepare(from: number, bytes: Uint8Array): void {
    const { log, cache, journal, pool, peers, member } = this.#parts;
    const op = peerNumber(bytes, PeerOffset.op);
    const header = log.header(op);
    if (header === null) {
      const isNamed = !isZero(bytes, PeerOffset.checksum, 16);
      const wanted = bytes.subarray(PeerOffset.checksum, PeerOffset.checksum + 16);
      this.#answerFromHistory(from, op, isNamed ? wanted : null);
      return;
    }
    if (isZero(bytes, PeerOffset.checksum, 16)) {
      // Whatever we have counts only if we both have the log of the same view.
      if (!member.isNormal || readView(bytes) !== member.view || !log.isCanonical(op)) return;
    } else if (!log.has(op, bytes, PeerOffset.checksum)) {
      return;
    }
    const message = cache.find(op, header, 0) ?? journal.writing(op, header, 0);
    if (message !== null) {
      pool.retain(message);
      peers.send(from, message);
      return;
    }
    if (this.#answerFromHistory(from, op, header)) return;
    if (!log.isClean(op) || journal.reading >= JOURNAL_READS_MAX - READS_RESERVED) return;
    journal.read(op, (read) => {
      if (read !== null) peers.send(from, read);
    });
  }

  /**
   * What the log has overwritten, or cannot read any more: executed here, so it is what it is in
   * every view. `wanted`: its checksum, if the other one knows it. Returns whether it was kept.
   */
  #answerFromHistory(from: number, op: number, wanted: Uint8Array | null): boolean {
    const { history, pool, peers } = this.#parts;
    const prepare = history.find(op);
    if (prepare === null || (wanted !== null && !bytesEqual(prepare, 0, wanted, 0, 16)))
      return false;
    const message = pool.acquire('request');
    if (message === null) return true;
    message.bytes.set(prepare);
    peers.send(from, message);
    return true;
  }

  onRequestHeaders(from: number, bytes: Uint8Array): void {
    const { log, history } = this.#parts;
    const low = peerNumber(bytes, PeerOffset.op);
    const high = Math.min(peerNumber(bytes, PeerOffset.opHead), log.head);
    const headers: Uint8Array[] = [];
    const countMax = HEADER_MESSAGES_MAX * HEADERS_PER_MESSAGE_MAX;
    for (let op = high; op >= low && headers.length < countMax; op--) {
      const header = log.header(op) ?? history.find(op)?.subarray(0, HEADER_SIZE) ?? null;
      if (header !== null) headers.push(header);
      else if (op <= log.head - this.#parts.geometry.slots) break;
    }
    for (let i = 0; i < headers.length; i += HEADERS_PER_MESSAGE_MAX) {
      this.sendHeaders(from, headers.slice(i, i + HEADERS_PER_MESSAGE_MAX));
    }
  }

  /** Copies the headers, 256 bytes each, into a message. */
  sendHeaders(replica: number, headers: readonly Uint8Array[]): void {
    const { pool, peers, member } = this.#parts;
    const message: Message | null = member.isViewDurable ? pool.acquire('small') : null;
    if (message === null) return;
    const { bytes } = message;
    const author = member.author();
    buildPeerMessage(bytes, Command.headers, author, {}, pool.checksum, headers);
    peers.send(replica, message);
  }
}
