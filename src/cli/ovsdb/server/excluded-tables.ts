/** `DB:TABLE,…`: tables that a backup does not copy. */
export interface ExcludedTables {
  /** By database. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  readonly problem: string | null;
}

export function parseExcludedTables(text: string): ExcludedTables {
  const tables = new Map<string, string[]>();
  for (const word of text.split(/[ ,]+/)) {
    if (word === '') continue;
    const colon = word.indexOf(':');
    if (colon < 1) return { tables, problem: `Can't parse excluded table: ${word}` };
    const database = word.slice(0, colon);
    tables.set(database, [...(tables.get(database) ?? []), word.slice(colon + 1)]);
  }
  return { tables, problem: null };
}
