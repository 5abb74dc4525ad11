/**
 * unixctl: how a running program is told what to do. A unix socket takes JSON-RPC requests whose
 * method is a command and whose params are its arguments; `callUnixctl` is the other end.
 */
export { callUnixctl, UnixctlConnection, type UnixctlReply } from './unixctl-client.ts';
export { UnixctlError } from './unixctl-error.ts';
export {
  type UnixctlHandler,
  UnixctlServer,
  type UnixctlServerOptions,
} from './unixctl-server.ts';
