/** The commands by name, and what each needs. Their code is loaded when it is known which one. */

import type { Need } from './connection/open-database.ts';
import type { ClientContext, Given } from './context.ts';

export interface CommandEntry {
  readonly name: string;
  readonly need: Need;
  /** Arguments besides remote and database. */
  readonly argsMin: number;
  readonly argsMax: number;
  readonly run: (context: ClientContext, given: Given) => Promise<void>;
}

const MANY: number = Number.POSITIVE_INFINITY;

const schema = () => import('./schema-commands.ts');
const transact = () => import('./transact-commands.ts');
const monitor = () => import('./monitor.ts');
const convert = () => import('./convert.ts');
const backup = () => import('./backup.ts');
const lock = () => import('./lock.ts');

export const commands: readonly CommandEntry[] = [
  entry('list-dbs', 'connection', 0, 0, async (c, g) =>
    (await import('./list-dbs.ts')).listDbs(c, g),
  ),
  entry('get-schema', 'database', 0, 0, async (c, g) => (await schema()).getSchema(c, g)),
  entry('get-schema-version', 'database', 0, 0, async (c, g) =>
    (await schema()).getSchemaVersion(c, g),
  ),
  entry('get-schema-cksum', 'database', 0, 0, async (c, g) =>
    (await schema()).getSchemaCksum(c, g),
  ),
  entry('list-tables', 'database', 0, 0, async (c, g) => (await schema()).listTables(c, g)),
  entry('list-columns', 'database', 0, 1, async (c, g) => (await schema()).listColumns(c, g)),
  entry('transact', 'nothing', 1, 2, async (c, g) => (await transact()).transact(c, g)),
  entry('query', 'nothing', 1, 2, async (c, g) => (await transact()).query(c, g)),
  entry('monitor', 'database', 1, MANY, async (c, g) => (await monitor()).monitor(c, g)),
  entry('monitor-cond', 'database', 2, 3, async (c, g) => (await monitor()).monitorCond(c, g)),
  entry('monitor-cond-since', 'database', 2, 4, async (c, g) =>
    (await monitor()).monitorCondSince(c, g),
  ),
  entry('wait', 'nothing', 2, 3, async (c, g) => (await import('./wait.ts')).wait(c, g)),
  entry('convert', 'nothing', 1, 2, async (c, g) => (await convert()).convert(c, g)),
  entry('needs-conversion', 'nothing', 1, 2, async (c, g) =>
    (await convert()).needsConversion(c, g),
  ),
  entry('dump', 'database', 0, MANY, async (c, g) => (await import('./dump.ts')).dump(c, g)),
  entry('backup', 'database', 0, 0, async (c, g) => (await backup()).backup(c, g)),
  entry('restore', 'database', 0, 0, async (c, g) => (await backup()).restore(c, g)),
  entry('lock', 'connection', 1, 1, async (c, g) => (await lock()).lock(c, g)),
  entry('steal', 'connection', 1, 1, async (c, g) => (await lock()).steal(c, g)),
  entry('unlock', 'connection', 1, 1, async (c, g) => (await lock()).unlock(c, g)),
  entry('help', 'nothing', 0, MANY, async ({ output }) =>
    output.print((await import('./usage.ts')).usageText()),
  ),
];

function entry(
  name: string,
  need: Need,
  argsMin: number,
  argsMax: number,
  run: CommandEntry['run'],
): CommandEntry {
  return { name, need, argsMin, argsMax, run };
}
