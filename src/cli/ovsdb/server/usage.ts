/** What `ovsdb-server --help` prints. */
import { daemonUsage } from '../shared/daemon-options.ts';
import { databaseDirectory } from '../shared/directories.ts';
import { streamUsage } from '../shared/tls-options.ts';
import { vlogUsage } from '../shared/vlog-options.ts';

export function usage(program: string): string {
  return `${program}: Open vSwitch database server
usage: ${program} [OPTIONS] [DATABASE...]
where each DATABASE is a database file in ovsdb format.
The default DATABASE, if none is given, is
${databaseDirectory()}/conf.db.

JSON-RPC options (may be specified any number of times):
  --remote=REMOTE         connect or listen to REMOTE
${streamUsage('JSON-RPC', true, true)}
Configuration file:
  --config-file PATH      Use configuration file as a source of
                          database and JSON-RPC configuration.
                          Mutually exclusive with the DATABASE,
                          JSON-RPC and Syncing options.
                          Assumes --no-dbs.
${daemonUsage(program)}${vlogUsage(program)}
Syncing options:
  --sync-from=SERVER      sync DATABASE from active SERVER and start in
                          backup mode (except with --active)
  --sync-exclude-tables=DB:TABLE,...
                          exclude the TABLE in DB from syncing
  --active                with --sync-from, start in active mode

Replay options:
  --record[=DIR]            turn on writing replay files
  --replay[=DIR]            run from replay files

Other options:
  --run COMMAND           run COMMAND as subprocess then exit
  --unixctl=SOCKET        override default control socket name
  --no-dbs                do not add default database
  --disable-file-column-diff
                          don't use column diff in database file
  --continue-after-damage serve what precedes damage in a database file
  -h, --help              display this help message
  -V, --version           display version information
`;
}
