/** What a connection to another server is to be used for, and what it has come to. */
export type SourceEffect =
  /** One JSON message to the other server. */
  | { readonly kind: 'send'; readonly text: string }
  /** Close this connection; try again, elsewhere if there are several places. */
  | { readonly kind: 'reconnect'; readonly reason: string }
  /** It will never work: close the connection and do not try again. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'log'; readonly level: 'INFO' | 'WARN' | 'DBG'; readonly text: string };
