/**
 * Who can be talked to, and whom to dial: every other server of the configuration in force, and
 * while joining every address that was given. Which bytes go over which of a pair's sessions is the
 * driver's business; here they are only counted.
 */
import { assert } from '../../stdx/index.ts';
import type { ServerId } from '../entry.ts';
import type { Event } from '../event.ts';
import type { Parts } from '../parts.ts';

export class Sessions<T> {
  readonly #parts: Parts<T>;
  readonly #counts: Map<ServerId, number> = new Map();
  /** Address → who should be there, of every session that the driver keeps dialling. */
  readonly #dialled: Map<string, ServerId | null> = new Map();

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  isConnected(peer: ServerId): boolean {
    return (this.#counts.get(peer) ?? 0) > 0;
  }

  onConnected(event: Event<T> & { readonly type: 'connected' }): void {
    const { peer, address, isDialled } = event;
    if (isDialled) this.#greet(peer, address);
    if (peer === null) return;
    const count = (this.#counts.get(peer) ?? 0) + 1;
    this.#counts.set(peer, count);
    if (count === 1) this.#parts.leader.onSessionChange(peer);
  }

  onDisconnected(peer: ServerId): void {
    const count = (this.#counts.get(peer) ?? 0) - 1;
    assert(count >= 0, 'Sessions: a session ends that never began');
    if (count > 0) this.#counts.set(peer, count);
    else {
      this.#counts.delete(peer);
      this.#parts.changes.onDisconnected(peer);
    }
    this.#parts.leader.onSessionChange(peer);
  }

  /** Dials whom it should and gives up whom it need not, after any change of configuration. */
  reconcile(): void {
    const { member, log, outbox, changes } = this.#parts;
    const wanted = this.#wanted();
    for (const [address, peer] of wanted) {
      if (this.#dialled.has(address)) continue;
      this.#dialled.set(address, peer);
      outbox.emit({ type: 'connect', peer, address });
    }
    // Whoever is in no configuration has only the connections it has, to hear about it.
    if (!member.isStopped && !member.isJoining && !log.servers.has(member.id)) return;
    for (const [address, peer] of this.#dialled) {
      if (wanted.has(address) || (peer !== null && changes.isBeingRemoved(peer))) continue;
      this.#dialled.delete(address);
      outbox.emit({ type: 'disconnect', peer, address });
    }
  }

  #wanted(): Map<string, ServerId | null> {
    const { member, log, joining, changes } = this.#parts;
    const wanted = new Map<string, ServerId | null>();
    if (member.isStopped) return wanted;
    for (const address of joining.remotes) wanted.set(address, null);
    for (const [id, address] of log.servers) {
      if (id !== member.id && address !== member.address) wanted.set(address, id);
    }
    for (const [address, id] of changes.toDial()) wanted.set(address, id);
    return wanted;
  }

  /** The one who dials speaks first, and says the most useful thing it has to say. */
  #greet(peer: ServerId | null, address: string): void {
    const { member, outbox, joining } = this.#parts;
    if (member.isJoining || (peer === null && !joining.isConfirmed())) {
      outbox.emit({
        type: 'send',
        peer,
        address,
        message: { type: 'add-server-request', address: member.address },
      });
    } else if (peer === null) return;
    else if (member.phase === 'leaving') {
      outbox.send(peer, { type: 'remove-server-request', server: member.id });
    } else outbox.send(peer, { type: 'hello-request', address: member.address });
  }
}
