/** What the compiler knows of rows; a wrong type fails `tsc`, not this test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Integer } from '../../ovsdb/index.ts';
import type { OvsdbClient, OvsdbMonitor, RowOf, SchemaShape, ValuesOf } from './index.ts';

const schema = {
  name: 'D',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        n: { type: { key: 'integer', min: 0, max: 1 } },
        kind: { type: { key: { type: 'string', enum: ['set', ['a', 'b']] } } },
        tags: { type: { key: 'string', min: 0, max: 'unlimited' } },
        kv: { type: { key: 'string', value: 'integer', min: 0, max: 'unlimited' } },
        refs: { type: { key: { type: 'uuid', refTable: 'T' }, min: 0, max: 5 } },
      },
    },
  },
} as const;

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(value: T): T => value;

type Row = RowOf<typeof schema, 'T'>;

test('types of rows follow from a constant schema', () => {
  yes<Equal<Row['_uuid'], string>>(true);
  yes<Equal<Row['name'], string>>(true);
  yes<Equal<Row['n'], Integer | null>>(true);
  yes<Equal<Row['kind'], 'a' | 'b'>>(true);
  yes<Equal<Row['tags'], readonly string[]>>(true);
  yes<Equal<Row['kv'], ReadonlyMap<string, Integer>>>(true);
  yes<Equal<Row['refs'], readonly string[]>>(true);
  const values: ValuesOf<typeof schema, 'T'> = { name: 'x', n: null, tags: ['y'] };
  assert.deepEqual(values, { name: 'x', n: null, tags: ['y'] });
});

test('a monitor of some columns knows these, and a select without a schema anything', () => {
  type Watching = OvsdbMonitor<typeof schema, { readonly T: readonly ['name'] }>;
  const nameOf = (watching: Watching): string | undefined => {
    const [row] = [...watching.rows('T').values()];
    // @ts-expect-error: not watched
    assert.equal(row?.n, undefined);
    // @ts-expect-error: not a table of the schema
    assert.throws(() => watching.rows('U'));
    return row?.name;
  };
  const use = async (client: OvsdbClient<SchemaShape>): Promise<string | undefined> => {
    const [row] = await client.select('whatever');
    return row?._uuid;
  };
  assert.deepEqual([typeof nameOf, typeof use], ['function', 'function']);
});
