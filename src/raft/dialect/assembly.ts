/**
 * Messages that are larger than a slot: sent in parts of one size, put together here. One at a time
 * per peer; a newer one ends an older, whose missing parts were lost. Parts may come twice and in
 * any order. The rest of the file is about whose memory the data of a message are.
 *
 * A message that does not arrive as a whole is a lost message, of which Raft makes good.
 */
import { assert } from '../../stdx/index.ts';
import type { Entry } from '../entry.ts';
import type { Msg } from '../message.ts';
import type { Frame } from './frame.ts';

/** Where data begin in memory, bytes: what machines may count on in a message, they may here. */
const DATA_ALIGNMENT = 16;

interface Assembly {
  readonly id: number;
  readonly unit: number;
  readonly bytes: Uint8Array;
  /** Offsets of the parts that are here. */
  readonly parts: Set<number>;
}

export class Assemblies {
  readonly #byPeer: Map<number, Assembly> = new Map();

  /**
   * Takes one part out of `bytes`, at `start`; returns the whole message, in memory of its own,
   * when this was the last one.
   */
  add(peer: number, frame: Frame, bytes: Uint8Array, start: number): Uint8Array | null {
    const { id, offset, unit, total } = frame;
    assert(frame.kind === 'message', 'Assemblies: not a part of a message');
    const size = Math.min(unit, total - offset);
    if (size === total) return bytes.slice(start, start + size);
    let assembly = this.#byPeer.get(peer);
    if (assembly !== undefined && assembly.id === id) {
      if (assembly.unit !== unit || assembly.bytes.length !== total) return null;
    } else {
      assembly = { id, unit, bytes: new Uint8Array(total), parts: new Set() };
      this.#byPeer.set(peer, assembly);
    }
    assembly.bytes.set(bytes.subarray(start, start + size), offset);
    assembly.parts.add(offset);
    if (assembly.parts.size < Math.ceil(total / unit)) return null;
    this.#byPeer.delete(peer);
    return assembly.bytes;
  }

  /** What it has sent is not going to be continued. */
  forget(peer: number): void {
    this.#byPeer.delete(peer);
  }
}

/**
 * The same message, with data in memory of their own, all of an append's in one piece. What was
 * read out of a slot refers to it; entries stay in the log when the slot is another's.
 */
export function detach(message: Msg<Uint8Array>): Msg<Uint8Array> {
  if (message.type === 'execute-command-request') {
    return { ...message, data: message.data.slice() };
  }
  if (message.type !== 'append-request') return message;
  let size = 0;
  for (const entry of message.entries) size += dataSize(entry);
  if (size === 0) return message;
  const memory = new Uint8Array(size);
  let offset = 0;
  const entries = message.entries.map((entry): Entry<Uint8Array> => {
    if (entry.kind !== 'data') return entry;
    const data = memory.subarray(offset, offset + entry.data.length);
    data.set(entry.data);
    offset += dataSize(entry);
    return { ...entry, data };
  });
  return { ...message, entries };
}

/** Room for an entry's data, up to where the next begin, bytes. */
function dataSize(entry: Entry<Uint8Array>): number {
  if (entry.kind !== 'data') return 0;
  return Math.ceil(entry.data.length / DATA_ALIGNMENT) * DATA_ALIGNMENT;
}
