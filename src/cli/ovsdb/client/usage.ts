/** The help text. */
import { daemonUsage } from '../shared/daemon-options.ts';
import { runDirectory } from '../shared/directories.ts';
import { streamUsage } from '../shared/tls-options.ts';
import { vlogUsage } from '../shared/vlog-options.ts';
import { PROGRAM } from './fatal.ts';

const commandsUsage = `
Valid commands are:

  list-dbs [SERVER]
    list databases available on SERVER

  get-schema [SERVER] [DATABASE]
    retrieve schema for DATABASE from SERVER

  get-schema-version [SERVER] [DATABASE]
    retrieve schema for DATABASE from SERVER and report only its
    version number on stdout

  get-schema-cksum [SERVER] [DATABASE]
    retrieve schema for DATABASE from SERVER and report only its
    checksum on stdout

  list-tables [SERVER] [DATABASE]
    list tables for DATABASE on SERVER

  list-columns [SERVER] [DATABASE] [TABLE]
    list columns in TABLE (or all tables) in DATABASE on SERVER

  transact [SERVER] TRANSACTION
    run TRANSACTION (params for "transact" request) on SERVER
    and print the results as JSON on stdout

  query [SERVER] TRANSACTION
    run TRANSACTION (params for "transact" request) on SERVER,
    as read-only, and print the results as JSON on stdout

  monitor [SERVER] [DATABASE] TABLE [COLUMN,...]...
    monitor contents of COLUMNs in TABLE in DATABASE on SERVER.
    COLUMNs may include !initial, !insert, !delete, !modify
    to avoid seeing the specified kinds of changes.

  monitor-cond [SERVER] [DATABASE] CONDITION TABLE [COLUMN,...]...
    monitor contents that match CONDITION of COLUMNs in TABLE in
    DATABASE on SERVER.
    COLUMNs may include !initial, !insert, !delete, !modify
    to avoid seeing the specified kinds of changes.

  monitor-cond-since [SERVER] [DATABASE] [LASTID] CONDITION TABLE [COLUMN,...]...
    monitor contents that match CONDITION of COLUMNs in TABLE in
    DATABASE on SERVER, since change after LASTID.
    LASTID specifies transaction ID after which the monitoring
    starts, which works only for cluster mode. If ignored, it
    defaults to an all-zero uuid.
    Other arguments are the same as in monitor-cond.

  convert [SERVER] SCHEMA
    convert database on SERVER named in SCHEMA to SCHEMA.

  needs-conversion [SERVER] SCHEMA
    tests whether SCHEMA's db on SERVER needs conversion.

  monitor [SERVER] [DATABASE] ALL
    monitor all changes to all columns in all tables

  wait [SERVER] DATABASE STATE
    wait until DATABASE reaches STATE ("added" or "connected" or "removed")
    in DATBASE on SERVER.

  dump [SERVER] [DATABASE]
    dump contents of DATABASE on SERVER to stdout

  backup [SERVER] [DATABASE] > SNAPSHOT
    dump database contents in the form of a database file

  [--force] restore [SERVER] [DATABASE] < SNAPSHOT
    restore database contents from a database file

  lock [SERVER] LOCK
    create or wait for LOCK in SERVER

  steal [SERVER] LOCK
    steal LOCK from SERVER

  unlock [SERVER] LOCK
    unlock LOCK from SERVER
`;

const tableUsage = `
Output formatting options:
  -f, --format=FORMAT         set output formatting to FORMAT
                              ("table", "html", "csv", or "json")
  -d, --data=FORMAT           set table cell output formatting to
                              FORMAT ("string", "bare", or "json")
  --no-headings               omit table heading row
  --pretty                    pretty-print JSON in output
  --bare                      equivalent to "--format=list --data=bare --no-headings"
`;

const otherUsage = `
Other options:
  -h, --help                  display this help message
  -V, --version               display version information
`;

export function usageText(): string {
  return (
    `${PROGRAM}: Open vSwitch database JSON-RPC client\n` +
    `usage: ${PROGRAM} [OPTIONS] COMMAND [ARG...]\n` +
    commandsUsage +
    `\nThe default SERVER is unix:${runDirectory()}/db.sock.\n` +
    'The default DATABASE is Open_vSwitch.\n' +
    streamUsage('SERVER', true, true) +
    tableUsage +
    '  --timestamp                 timestamp "monitor" output' +
    daemonUsage(PROGRAM) +
    vlogUsage(PROGRAM) +
    otherUsage
  );
}
