/** One attempt to connect to a target. */
import net from 'node:net';
import { resolve } from 'node:path';
import tls from 'node:tls';
import { glibcErrorText } from '../append-file/error-text.ts';
import type { Connected } from './connected.ts';
import { identityOf } from './listen.ts';
import type { ActiveTarget } from './target.ts';
import type { TlsContext } from './tls-context.ts';
import { withShortPath } from './unix-path.ts';

export interface ConnectOptions {
  /** Needed for `ssl:`. */
  readonly tls?: TlsContext;
  readonly runDirectory?: string;
  readonly nowMs?: () => number;
}

/** Told once: the connection, or why there is none, in words. */
export type ConnectDone = (result: Connected | string) => void;

/** Starts to connect. The function that is returned gives up; nothing is told then. */
export function connectStream(
  target: ActiveTarget,
  options: ConnectOptions,
  done: ConnectDone,
): () => void {
  let socket: net.Socket | null = null;
  let finished = false;
  const finish = (result: Connected | string): void => {
    if (finished) return;
    finished = true;
    if (typeof result === 'string') socket?.destroy();
    done(result);
  };
  const failed = (error: unknown): void => finish(glibcErrorText(firstOf(error)));
  try {
    socket = target.kind === 'ssl' ? openTls(target, options, finish) : openPlain(target, options);
  } catch (error) {
    // Not from within the call: its owner does not know yet how to give up.
    setImmediate(() => failed(error));
    return () => {
      finished = true;
    };
  }
  const opened = socket;
  opened.on('error', failed);
  opened.on('close', () => finish('Connection reset by peer'));
  if (target.kind !== 'ssl') {
    opened.once('connect', () => {
      finish({ socket: opened, name: target.text, tlsIdentity: null, isTls: false });
    });
  }
  return () => {
    finished = true;
    opened.destroy();
  };
}

/** Of several addresses of one name each has its own error. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error;
}

function openPlain(target: ActiveTarget, { runDirectory }: ConnectOptions): net.Socket {
  if (target.kind === 'unix') {
    const path = resolve(runDirectory ?? '/var/run', target.path);
    return withShortPath(path, (short) => net.connect({ path: short, allowHalfOpen: true }));
  }
  const { host, port } = target;
  return net.connect({ host, port, allowHalfOpen: true, noDelay: true });
}

function openTls(
  target: Extract<ActiveTarget, { kind: 'ssl' }>,
  { tls: context, nowMs = () => performance.now() }: ConnectOptions,
  finish: ConnectDone,
): net.Socket {
  const secure = context?.secure(nowMs());
  if (context === undefined || secure === undefined) throw new Error('Protocol not available');
  const { serverName } = context;
  const settings: tls.ConnectionOptions & { allowHalfOpen: boolean } = {
    host: target.host,
    port: target.port,
    secureContext: secure.context,
    rejectUnauthorized: secure.verifies && !secure.bootstraps,
    checkServerIdentity: () => undefined,
    allowHalfOpen: true,
    ...(serverName !== null ? { servername: serverName } : {}),
  };
  const socket = tls.connect(settings);
  socket.setNoDelay(true);
  socket.once('secureConnect', () => {
    if (!secure.bootstraps) {
      finish({ socket, name: target.text, tlsIdentity: identityOf(socket), isTls: true });
      return;
    }
    try {
      context.bootstrap(socket);
      finish('Protocol error');
    } catch (error) {
      finish(glibcErrorText(error));
    }
  });
  return socket;
}
