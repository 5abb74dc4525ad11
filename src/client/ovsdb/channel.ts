/**
 * One connection to a server: parsed messages come in, JSON goes out. What is sent in one turn of
 * the event loop leaves as one write.
 */
import {
  type ActiveTarget,
  type Connected,
  connectStream,
  isPassive,
  parseTarget,
  Stream,
  TargetError,
  type TlsContext,
} from '../../io/streams/index.ts';
import {
  encodeUtf8,
  type Json,
  JsonFramer,
  type JsonResult,
  serialize,
} from '../../ovsdb/index.ts';
import { OvsdbClientError, OvsdbErrorCode } from './errors.ts';

/** Of `tcp:HOST[:PORT]`, `ssl:HOST[:PORT]` or `unix:PATH`. */
export function parseAddress(text: string, tls: TlsContext | null): ActiveTarget {
  const wanted = 'wanted is tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:PATH';
  try {
    const target = parseTarget(text);
    if (isPassive(target)) throw new TargetError(text, wanted);
    if (target.kind === 'ssl' && tls === null) throw new TargetError(text, 'needs the option tls');
    return target;
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    throw new OvsdbClientError(OvsdbErrorCode.address, `cannot connect to ${error.message}`);
  }
}

export interface ChannelEvents {
  message(json: Json): void;
  /** Once; nothing follows. */
  closed(reason: string): void;
}

export class Channel {
  readonly #stream: Stream<JsonResult>;
  readonly #events: ChannelEvents;
  #flushing: boolean = false;

  private constructor(connected: Connected, events: ChannelEvents) {
    this.#events = events;
    this.#stream = new Stream<JsonResult>({
      ...connected,
      framer: new JsonFramer(),
      handler: {
        messages: (results) => this.#received(results),
        drained: () => {},
        activity: () => {},
        ended: () => this.close('the server closed the connection'),
        closed: (error) => events.closed(error ?? 'the connection was closed'),
      },
    });
  }

  /** Rejects when nobody answers in `timeoutMs`, or `signal` aborts. */
  static async open(
    target: ActiveTarget,
    tls: TlsContext | null,
    timeoutMs: number,
    events: ChannelEvents,
    signal: AbortSignal,
  ): Promise<Channel> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    if (limit.aborted) throw new Error('aborted');
    const connected = await new Promise<Connected>((resolve, reject) => {
      const options = { runDirectory: process.cwd(), ...(tls === null ? {} : { tls }) };
      const giveUp = connectStream(target, options, (result) => {
        limit.removeEventListener('abort', abort);
        if (typeof result === 'string') reject(new Error(result));
        else resolve(result);
      });
      const abort = (): void => {
        giveUp();
        reject(new Error(signal.aborted ? 'aborted' : `no answer within ${timeoutMs} ms`));
      };
      limit.addEventListener('abort', abort, { once: true });
    });
    return new Channel(connected, events);
  }

  send(json: Json): void {
    if (this.#stream.isClosed) return;
    this.#stream.send(encodeUtf8(serialize(json)));
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#stream.flush();
    });
  }

  /** What was sent before has left, as far as the system takes it. */
  close(reason: string): void {
    this.#stream.flush();
    this.#stream.destroy(reason);
  }

  #received(results: readonly JsonResult[]): void {
    for (const result of results) {
      if (this.#stream.isClosed) return;
      if (result.ok) this.#events.message(result.value);
      else this.close(`cannot read what the server sends: ${result.error}`);
    }
  }
}
