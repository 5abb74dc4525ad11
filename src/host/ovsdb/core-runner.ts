/**
 * Runs the core: lets it look at what came once per turn of the event loop, does what it wants done
 * in order, and wakes it when its time has come. Everything sent in one turn to one client leaves
 * together; a text that is sent to many is turned into bytes once.
 *
 * Work comes in slices that the core bounds; between two of them the event loop has its turn, so
 * other clients' bytes, timers and the storage are not kept waiting.
 */
import {
  type AppendEffect,
  type CoreEffect,
  encodeUtf8,
  type OvsdbCore,
  type SessionId,
} from '../../ovsdb/index.ts';
import type { Client } from './client.ts';
import type { OvsdbLogLevel } from './options.ts';

export interface RunnerHooks {
  append(effect: AppendEffect): void;
  /** Nothing more is appended in this turn. */
  flush(): void;
  forward(effect: CoreEffect & { kind: 'forward' }): void;
  /** Some database has changed for good. */
  committed(): void;
  log(module: string, level: OvsdbLogLevel, text: string): void;
}

export class CoreRunner {
  readonly #core: OvsdbCore;
  readonly #hooks: RunnerHooks;
  readonly #nowMs: () => number;
  readonly #clients: Map<SessionId, Client> = new Map();
  readonly #dirty: Client[] = [];
  /** Nothing is read from them until the core has looked at what came. */
  readonly #paused: Set<Client> = new Set();
  /** They send nothing more, and still get what they asked for. */
  readonly #ending: Set<Client> = new Set();
  /** Per database, of the latest append and of the latest that is confirmed. */
  readonly #appended: Map<string, number> = new Map();
  readonly #confirmed: Map<string, number> = new Map();
  #scheduled: boolean = false;
  #timer: NodeJS.Timeout | null = null;
  #timerMs: number = 0;
  #revisions: number = 0;
  #stopped: boolean = false;
  readonly #tick: () => void = () => this.#onTick();

  constructor(core: OvsdbCore, hooks: RunnerHooks, nowMs: () => number) {
    this.#core = core;
    this.#hooks = hooks;
    this.#nowMs = nowMs;
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  get clients(): Iterable<Client> {
    return this.#clients.values();
  }

  add(client: Client): void {
    this.#clients.set(client.id, client);
  }

  remove(client: Client): void {
    this.#clients.delete(client.id);
    this.#paused.delete(client);
    this.#ending.delete(client);
    this.wake();
  }

  pause(client: Client): void {
    client.stream?.pause();
    this.#paused.add(client);
  }

  /** The client sends nothing more. */
  ended(client: Client): void {
    this.#ending.add(client);
    this.wake();
  }

  /** The core has something to do: in this turn of the event loop, after all that came in it. */
  wake(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(this.#tick);
  }

  #onTick(): void {
    this.#scheduled = false;
    if (this.#stopped) return;
    this.#core.tick(this.#nowMs());
    this.drain();
    this.#hooks.flush();
  }

  confirmed(database: string, number: number): void {
    this.#confirmed.set(database, number);
  }

  forget(database: string): void {
    this.#appended.delete(database);
    this.#confirmed.delete(database);
  }

  /** Does what the core wants done. After every call to it. */
  drain(): void {
    const effects = this.#core.takeEffects();
    if (effects.length > 0) this.#perform(effects);
    if (this.#paused.size > 0) this.#resume();
    if (this.#ending.size > 0) this.#finishEnding();
    this.#tellCommitted();
    this.#arm();
  }

  #perform(effects: readonly CoreEffect[]): void {
    let last = '';
    let bytes: Uint8Array = new Uint8Array(0);
    for (const effect of effects) {
      switch (effect.kind) {
        case 'send': {
          const { session, text } = effect;
          if (text !== last) {
            last = text;
            bytes = encodeUtf8(text);
          }
          this.#send(session, bytes);
          break;
        }
        case 'append':
          this.#appended.set(effect.database, effect.number);
          this.#hooks.append(effect);
          break;
        case 'drop':
          this.#drop(effect.session, effect.reason);
          break;
        case 'forward':
          this.#hooks.forward(effect);
      }
    }
    this.#flush();
  }

  #send(session: SessionId, message: Uint8Array): void {
    const client = this.#clients.get(session);
    if (client === undefined) return;
    client.stream?.send(message);
    if (client.isDirty) return;
    client.isDirty = true;
    this.#dirty.push(client);
  }

  #flush(): void {
    for (const client of this.#dirty) {
      client.isDirty = false;
      const { stream } = client;
      if (stream === null) continue;
      stream.flush();
      if (!stream.isBacklogged || stream.isClosed) continue;
      this.#core.backlogged(client.id);
      this.pause(client);
    }
    this.#dirty.length = 0;
  }

  #drop(session: SessionId, reason: string): void {
    const client = this.#clients.get(session);
    if (client === undefined) return;
    this.#hooks.log('ovsdb_jsonrpc_server', 'INFO', `${client.name}: disconnecting (${reason})`);
    client.stream?.end();
    this.remove(client);
  }

  #resume(): void {
    for (const client of this.#paused) {
      if (!this.#core.wantsInput(client.id)) continue;
      this.#paused.delete(client);
      client.stream?.resume();
    }
  }

  /** Closes those that have sent everything when they have got everything. */
  #finishEnding(): void {
    for (const client of this.#ending) {
      if (!this.#core.wantsInput(client.id)) continue;
      client.endsAfter ??= new Map(this.#appended);
      if (![...client.endsAfter].every(([name, number]) => this.#isConfirmed(name, number))) {
        continue;
      }
      this.#ending.delete(client);
      client.stream?.end();
    }
  }

  #isConfirmed(database: string, number: number): boolean {
    if (!this.#appended.has(database)) return true;
    return (this.#confirmed.get(database) ?? 0) >= number;
  }

  #tellCommitted(): void {
    let revisions = 0;
    for (const name of this.#core.databaseNames()) revisions += this.#core.revision(name) + 1;
    if (revisions === this.#revisions) return;
    this.#revisions = revisions;
    this.#hooks.committed();
  }

  #arm(): void {
    const deadline = this.#stopped ? null : this.#core.deadlineMs();
    if (deadline !== null) {
      const now = this.#nowMs();
      if (deadline <= now) {
        this.wake();
        return;
      }
      if (this.#timer !== null && this.#timerMs === deadline) return;
      this.#disarm();
      this.#timerMs = deadline;
      const waitMs = Math.min(Math.max(1, Math.ceil(deadline - now)), 0x7fffffff);
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.#onTick();
      }, waitMs);
    } else this.#disarm();
  }

  #disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Nothing is done any more. */
  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }
}
