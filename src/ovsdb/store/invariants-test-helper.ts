/**
 * Everything that a database keeps beside its rows, worked out again the slow way: counts of
 * references, indexes, weak referrers, atoms; and the integrity that commits promise.
 */
import assert from 'node:assert/strict';
import { checkDatum, countOf, type Datum, strideOf } from '../data/datum.ts';
import type { Uuid } from '../data/uuid.ts';
import type { Database } from './database.ts';
import { atomCount, type Row, rowKey } from './row.ts';
import type { Table } from './table.ts';

export function checkInvariants(database: Database): void {
  const strong = new Map<Row, number>();
  const weak = new Map<string, number>();
  let atoms = 0;
  for (const table of database.tables.values()) {
    assert.ok(table.size <= table.schema.maxRows);
    for (const row of table.rows()) {
      atoms += atomCount(row, table.schema);
      checkRow(database, table, row, strong, weak);
    }
    checkIndexes(table);
  }
  assert.equal(database.atoms, atoms);
  for (const table of database.tables.values()) {
    for (const row of table.rows()) {
      assert.equal(row.references, strong.get(row) ?? 0, `${table.schema.name} ${row.uuid}`);
      assert.ok(row.references > 0 || table.schema.isRoot, `garbage ${row.uuid}`);
      table.referrers.forEach(row.uuid, (source, from) => {
        const name = `${source.schema.name} ${from} ${table.schema.name} ${row.uuid}`;
        assert.ok(weak.delete(name), `stale weak referrer ${name}`);
      });
    }
  }
  assert.equal(weak.size, 0, 'a weak reference is not known at its target');
  const known = [...database.tables.values()].reduce((sum, t) => sum + t.referrers.size, 0);
  assert.equal(known, countWeak(database));
}

function checkRow(
  database: Database,
  table: Table,
  row: Row,
  strong: Map<Row, number>,
  weak: Map<string, number>,
): void {
  for (const { index, type } of table.schema.columns) {
    const datum = row.datum(index);
    const count = countOf(datum, type);
    assert.ok(count >= type.min && count <= type.max);
    assert.equal(checkDatum(datum, type), null);
    for (const { to, target, kind } of referencesIn(database, datum, type)) {
      // A reference to the row's own UUID is its own affair, in whatever table.
      if (kind === 'strong' && target === row.uuid) continue;
      const found = to.row(target);
      assert.ok(found !== null, `${kind} reference to nothing: ${target}`);
      if (kind === 'weak')
        weak.set(`${table.schema.name} ${row.uuid} ${to.schema.name} ${target}`, 1);
      else strong.set(found, (strong.get(found) ?? 0) + 1);
    }
  }
}

function* referencesIn(
  database: Database,
  datum: Datum,
  type: Table['schema']['columns'][number]['type'],
): Generator<{ to: Table; target: Uuid; kind: string }> {
  for (const [part, base] of [type.key, type.value].entries()) {
    if (base?.reference == null) continue;
    const to = database.table(base.reference.table);
    for (let i = part; i < datum.length; i += strideOf(type)) {
      yield { to, target: datum[i] as Uuid, kind: base.reference.kind };
    }
  }
}

function countWeak(database: Database): number {
  const pairs = new Set<string>();
  for (const table of database.tables.values()) {
    for (const row of table.rows()) {
      for (const { index, type } of table.schema.columns) {
        for (const { to, target, kind } of referencesIn(database, row.datum(index), type)) {
          if (kind === 'weak')
            pairs.add([table.schema.name, row.uuid, to.schema.name, target].join());
        }
      }
    }
  }
  return pairs.size;
}

function checkIndexes(table: Table): void {
  for (const [i, columns] of table.schema.indexes.entries()) {
    const keys = new Set<string>();
    for (const row of table.rows()) {
      const key = rowKey(row, columns);
      assert.ok(!keys.has(key), 'two rows of one index value');
      keys.add(key);
      assert.equal(table.rowByIndex(i, key), row);
    }
  }
}
