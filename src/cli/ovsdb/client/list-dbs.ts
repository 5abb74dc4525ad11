/** `list-dbs`: the names of a server's databases. */
import { fetchDatabases } from './connection/open-database.ts';
import { type Command, connectionOf } from './context.ts';

export const listDbs: Command = async (context, given) => {
  for (const name of await fetchDatabases(context, connectionOf(given))) {
    context.output.print(`${name}\n`);
  }
};
