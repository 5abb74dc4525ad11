/** A connection that is there, before anything was said on it. */
import type net from 'node:net';

export interface Connected {
  readonly socket: net.Socket;
  /** As logs have it, e.g. `tcp:127.0.0.1:51234`, `unix#3`. */
  readonly name: string;
  /** The name in the certificate by which the other side has proved itself. */
  readonly tlsIdentity: string | null;
  readonly isTls: boolean;
}
