/** Tables that a backup does not copy: `DATABASE:TABLE`, separated by commas or spaces. */
import { OvsdbError } from '../data/error.ts';
import { compareText } from '../json/serialize.ts';

/** For each database its excluded tables. */
export type Exclusions = ReadonlyMap<string, ReadonlySet<string>>;

export function parseExclusions(text: string): Exclusions | OvsdbError {
  const exclusions = new Map<string, Set<string>>();
  for (const name of text.split(/[ ,]+/)) {
    if (name === '') continue;
    // As strtok splits: empty parts do not count, and what follows a second colon is the table's.
    const [, database, table] = /^:*([^:]+):+(.+)$/.exec(name) ?? [];
    if (database === undefined || table === undefined) {
      return new OvsdbError('syntax error', `Can't parse excluded table: ${name}`);
    }
    exclusions.set(database, (exclusions.get(database) ?? new Set()).add(table));
  }
  return exclusions;
}

/** As {@link parseExclusions} reads it, sorted. */
export function formatExclusions(exclusions: Exclusions): string {
  return [...exclusions]
    .flatMap(([database, tables]) => [...tables].map((table) => `${database}:${table}`))
    .sort(compareText)
    .join(',');
}

/** The tables of one database among those; one without a database is of every database. */
export function excludedTablesOf(name: string, text: string): ReadonlySet<string> {
  const tables = new Set<string>();
  for (const word of text.split(/[ ,]+/)) {
    const colon = word.indexOf(':');
    if (colon === -1 && word !== '') tables.add(word);
    else if (colon > 0 && word.slice(0, colon) === name) tables.add(word.slice(colon + 1));
  }
  return tables;
}
