/** Every limit and default of streams, with its unit. */

/** Where OVSDB servers listen unless told otherwise. */
export const STREAM_PORT = 6640;
/** Connections that the kernel keeps until they are accepted; it has a limit of its own. */
export const LISTEN_BACKLOG = 4096;
/** What one connection may be behind in reading before it is closed, bytes. */
export const STREAM_BACKLOG_MAX: number = 512 * 1024 * 1024;
/** A TLS stream is called backlogged from here on: it never writes at once. Bytes. */
export const TLS_BACKLOG_MIN: number = 64 * 1024;
/** How long a stream that is being closed may take to send what is left, ms. */
export const STREAM_END_MS = 5_000;
/** Silence after which the other side is asked whether it is there, ms; not on unix sockets. */
export const PROBE_INTERVAL_MS = 5_000;
export const PROBE_INTERVAL_MIN_MS = 1_000;
export const BACKOFF_MIN_MS = 1_000;
export const BACKOFF_MAX_MS = 8_000;
/** The longest path that fits into the address of a unix socket, bytes. */
export const UNIX_PATH_MAX = 107;
/** How long a TLS handshake may take, ms. */
export const TLS_HANDSHAKE_MS = 10_000;
