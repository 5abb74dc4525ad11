/**
 * streams: connections that carry messages, over TCP, unix sockets and TLS. Reading order: `target`
 * (how people write them), `stream` (one connection), `listen` and `connect`, `reconnect` (when to
 * try again and when to ask whether anybody is there; pure) with `watch` (its timer), then
 * `accepted-stream` and `active-stream`, which put these together; `tls-context`, `limits`.
 */

export { RoundelayError } from '../errors.ts';
export { type AcceptedOptions, AcceptedStream } from './accepted-stream.ts';
export { type ActiveHandler, type ActiveOptions, ActiveStream } from './active-stream.ts';
export { type ConnectOptions, connectStream } from './connect.ts';
export type { Connected } from './connected.ts';
export { StreamError, TlsSettingsError } from './errors.ts';
export * from './limits.ts';
export { type ListenOptions, listenStream, type StreamListener } from './listen.ts';
export {
  Reconnect,
  type ReconnectAction,
  type ReconnectState,
  type ReconnectStatus,
} from './reconnect.ts';
export { type Framer, Stream, type StreamHandler } from './stream.ts';
export {
  type ActiveTarget,
  hostText,
  isPassive,
  needsProbes,
  type PassiveTarget,
  parseTarget,
  type Target,
  TargetError,
} from './target.ts';
export { noTlsFiles, TlsContext, type TlsFiles } from './tls-context.ts';
