/**
 * Which client is on which connection. A server learns it from what arrives: a ping fixes a
 * connection to its client, a request makes it likely. A reply goes to the connection from which
 * its client was last heard; without one it is discarded, and the client asks again.
 */
import { assert } from '../../stdx/index.ts';
import type { ConnectionId } from '../event.ts';

/** What hearing a client on a connection means. */
export type Heard =
  | { readonly kind: 'ok' }
  /** The connection belonged to another client id: its peer is confused. */
  | { readonly kind: 'changed' }
  /** The client has moved here; its older connection is of no use any more. */
  | { readonly kind: 'moved'; readonly from: ConnectionId };

const OK: Heard = { kind: 'ok' };
const CHANGED: Heard = { kind: 'changed' };

export class Clients {
  readonly #clients: Map<ConnectionId, string> = new Map();
  readonly #connections: Map<string, ConnectionId> = new Map();

  /** Connections on which a client was heard. */
  get count(): number {
    return this.#clients.size;
  }

  /** Something well formed has come from the client whose id is `bytes[offset, +16)`. */
  hear(connection: ConnectionId, bytes: Uint8Array, offset: number, isPing: boolean): Heard {
    const client = clientKey(bytes, offset);
    const before = this.#clients.get(connection);
    if (before !== undefined && before !== client) return CHANGED;
    this.#clients.set(connection, client);
    const older = this.#connections.get(client);
    this.#connections.set(client, connection);
    if (older === undefined || older === connection || !isPing) return OK;
    this.#clients.delete(older);
    return { kind: 'moved', from: older };
  }

  /** Where a reply to the client goes; `null` when it is not connected. */
  connectionOf(bytes: Uint8Array, offset: number): ConnectionId | null {
    return this.#connections.get(clientKey(bytes, offset)) ?? null;
  }

  /** Connections on which a client was heard. */
  connections(): Iterable<ConnectionId> {
    return this.#clients.keys();
  }

  /** The connection is gone. */
  forget(connection: ConnectionId): void {
    const client = this.#clients.get(connection);
    if (client === undefined) return;
    this.#clients.delete(connection);
    if (this.#connections.get(client) === connection) this.#connections.delete(client);
  }

  invariants(): void {
    for (const [client, connection] of this.#connections) {
      assert(this.#clients.get(connection) === client, 'Clients: maps disagree');
    }
  }
}

/** 16 bytes as a string of 8 characters: a key, not for reading. */
export function clientKey(bytes: Uint8Array, offset: number): string {
  assert(bytes.length >= offset + 16, 'clientKey: too short');
  let key = '';
  for (let i = offset; i < offset + 16; i += 2) {
    key += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
  }
  return key;
}
