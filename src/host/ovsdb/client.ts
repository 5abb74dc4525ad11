/**
 * One client of the server: a session of the core on a stream. Says what came to the core, and how
 * the stream fares; what is to be sent is decided in `core-runner`.
 */
import type { Connected, ReconnectStatus, Stream, StreamHandler } from '../../io/streams/index.ts';
import type { JsonResult, OvsdbCore, SessionId } from '../../ovsdb/index.ts';
import type { CoreRunner } from './core-runner.ts';

/** The other side is asked by this whether it is there; the core swallows the answer. */
export const PROBE_TEXT = '{"id":"echo","method":"echo","params":[]}';

export interface ClientOptions {
  readonly core: OvsdbCore;
  readonly runner: CoreRunner;
  readonly connected: Pick<Connected, 'name' | 'tlsIdentity'>;
  readonly readOnly: boolean;
  readonly role: string;
  /** Told when the stream is gone. */
  readonly onClosed: (error: string | null) => void;
}

export class Client {
  readonly id: SessionId;
  readonly name: string;
  /** Has something to be flushed. */
  isDirty: boolean = false;
  /** The other side sends nothing more: numbers of the appends to await, once they are known. */
  endsAfter: ReadonlyMap<string, number> | null = null;
  /** Of this connection; whoever made it sets it. */
  statusOf: () => ReconnectStatus | null = () => null;
  readonly #core: OvsdbCore;
  readonly #runner: CoreRunner;
  readonly #onClosed: (error: string | null) => void;
  #stream: Stream<JsonResult> | null = null;

  constructor(options: ClientOptions) {
    const { core, runner, connected, readOnly, role, onClosed } = options;
    const { name, tlsIdentity } = connected;
    this.#core = core;
    this.#runner = runner;
    this.#onClosed = onClosed;
    this.name = name;
    this.id = core.openSession({ readOnly, role, clientId: tlsIdentity, label: name });
  }

  get stream(): Stream<JsonResult> | null {
    return this.#stream;
  }

  attach(stream: Stream<JsonResult>): void {
    this.#stream = stream;
    this.#runner.add(this);
  }

  /** For the stream. */
  get handler(): Omit<StreamHandler<JsonResult>, 'activity'> {
    return {
      messages: (results) => this.#onMessages(results),
      drained: () => this.#onDrained(),
      ended: () => this.#runner.ended(this),
      closed: (error) => this.close(error),
    };
  }

  /** Whoever sends more while what it sent is not looked at has to wait. */
  #onMessages(results: readonly JsonResult[]): void {
    const core = this.#core;
    const wanted = core.wantsInput(this.id);
    for (const result of results) {
      if (result.ok) core.receive(this.id, result.value);
      else core.malformed(this.id, result.error);
    }
    if (!wanted) this.#runner.pause(this);
    this.#runner.wake();
  }

  #onDrained(): void {
    this.#core.drained(this.id);
    this.#runner.wake();
  }

  /** The stream is gone, or going. */
  close(error: string | null): void {
    this.#core.closeSession(this.id);
    this.#runner.remove(this);
    this.#onClosed(error);
  }
}
