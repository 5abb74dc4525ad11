/**
 * An OVSDB server in a process: `start-ovsdb` (what users call), `ovsdb-server` (core, files and
 * streams together), `core-runner`, `client`, `remotes`, `source-link`, `storage/`; `unixctl/` is
 * the control socket of programs.
 */
export {
  defaultRemoteOptions,
  type OvsdbLogLevel,
  type OvsdbServerOptions,
  type RemoteOptions,
  type RemoteStatus,
} from './options.ts';
export { OvsdbServer } from './ovsdb-server.ts';
export {
  OvsdbStartError,
  type StartedOvsdb,
  type StartOvsdbOptions,
  startOvsdb,
} from './start-ovsdb.ts';
