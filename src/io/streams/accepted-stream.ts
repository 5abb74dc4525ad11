/**
 * A stream that somebody else has opened, watched by probes: silence is asked about, then closed.
 */
import type { Connected } from './connected.ts';
import type { ReconnectStatus } from './reconnect.ts';
import { Reconnect } from './reconnect.ts';
import { type Framer, Stream, type StreamHandler } from './stream.ts';
import { Watch } from './watch.ts';

export interface AcceptedOptions<Message> {
  readonly connected: Connected;
  readonly framer: Framer<Message>;
  readonly handler: Omit<StreamHandler<Message>, 'activity'>;
  /** What is sent to be answered. */
  readonly probe: string;
  /** 0: none. */
  readonly probeIntervalMs: number;
  readonly nowMs: () => number;
  readonly backlogMax?: number;
}

export class AcceptedStream<Message> {
  readonly stream: Stream<Message>;
  readonly #reconnect: Reconnect;
  readonly #watch: Watch;
  readonly #nowMs: () => number;

  constructor(options: AcceptedOptions<Message>) {
    const { connected, handler, nowMs, probeIntervalMs, probe, framer, backlogMax } = options;
    this.#nowMs = nowMs;
    this.#reconnect = new Reconnect({ probeIntervalMs, isAccepted: true }, nowMs());
    const reconnect = this.#reconnect;
    this.stream = new Stream({
      ...connected,
      framer,
      ...(backlogMax === undefined ? {} : { backlogMax }),
      handler: {
        messages: (messages) => handler.messages(messages),
        drained: () => handler.drained(),
        ended: () => handler.ended(),
        activity: () => reconnect.activity(nowMs()),
        closed: (error) => {
          this.#watch.stop();
          reconnect.disconnected(error, nowMs());
          handler.closed(error);
        },
      },
    });
    const { stream } = this;
    this.#watch = new Watch(reconnect, nowMs, (action) => {
      if (stream.isPaused || stream.isBacklogged) {
        // It is this side that does not listen, or is waited for.
        reconnect.activity(nowMs());
      } else if (action === 'probe') {
        stream.send(probe);
        stream.flush();
      } else stream.destroy('no response to inactivity probe');
    });
  }

  configure(probeIntervalMs: number, backoffMaxMs: number): void {
    this.#reconnect.configure({ probeIntervalMs, backoffMaxMs });
    this.#watch.arm();
  }

  status(): ReconnectStatus {
    return this.#reconnect.status(this.#nowMs());
  }
}
