/**
 * What TypeScript can know of rows from a schema that is a constant:
 *
 *     const schema = { name: 'D', tables: { T: { columns: { n: { type: 'integer' } } } } } as const;
 *     const client = await connectOvsdb({ remote, database: 'D', schema });
 *     // rows of T: { readonly _uuid: string; readonly n: Integer }
 *
 * Without one, rows are records of column values.
 */
import type { Integer } from '../../ovsdb/index.ts';

/** As much of RFC 7047's <database-schema> as the types look at. */
export interface SchemaShape {
  readonly name: string;
  readonly version?: string;
  readonly cksum?: string;
  readonly tables: { readonly [table: string]: TableShape };
}

export interface TableShape {
  readonly columns: { readonly [column: string]: ColumnShape };
  readonly maxRows?: number;
  readonly isRoot?: boolean;
  readonly indexes?: readonly (readonly string[])[];
}

export interface ColumnShape {
  readonly type: string | object;
  readonly ephemeral?: boolean;
  readonly mutable?: boolean;
}

/** One atom: integers beyond 2^53 are bigints, UUIDs are text. */
export type AtomValue = Integer | boolean | string;

/**
 * A column's value: a scalar is itself; a set of at most one is its element or `null`; other sets
 * are arrays, sorted; maps are maps.
 */
export type ColumnValue =
  | AtomValue
  | null
  | readonly AtomValue[]
  | ReadonlyMap<AtomValue, AtomValue>;

interface Atoms {
  integer: Integer;
  real: number;
  boolean: boolean;
  string: string;
  uuid: string;
}

type AtomOf<T> = T extends keyof Atoms ? Atoms[T] : AtomValue;

type BaseOf<B> = B extends string
  ? AtomOf<B>
  : B extends { readonly enum: readonly ['set', readonly (infer E)[]] }
    ? E
    : B extends { readonly type: infer T }
      ? AtomOf<T>
      : AtomValue;

type IsSingle<T> = T extends { readonly max: infer M } ? (M extends 1 ? true : false) : true;

type SetOf<T, Base> =
  IsSingle<T> extends true ? (T extends { readonly min: 0 } ? Base | null : Base) : readonly Base[];

/** The value of a column of RFC 7047's <type> T. */
export type ValueOf<T> = T extends string
  ? AtomOf<T>
  : T extends { readonly key: infer K; readonly value: infer V }
    ? ReadonlyMap<BaseOf<K>, BaseOf<V>>
    : T extends { readonly key: infer K }
      ? SetOf<T, BaseOf<K>>
      : ColumnValue;

export type TableName<S extends SchemaShape> = keyof S['tables'] & string;

/** Columns that every row has. */
interface BuiltIn {
  readonly _uuid: string;
}

/** A row; of a replica that has not all columns, those that it has. */
export type RowOf<S extends SchemaShape, T extends TableName<S>> = BuiltIn &
  (string extends TableName<S>
    ? { readonly [column: string]: ColumnValue }
    : {
        readonly [C in keyof S['tables'][T]['columns']]: ValueOf<
          S['tables'][T]['columns'][C]['type']
        >;
      });

/** Some columns' values, for an insert or an update. */
export type ValuesOf<S extends SchemaShape, T extends TableName<S>> =
  string extends TableName<S>
    ? { readonly [column: string]: ColumnValue }
    : Partial<Omit<RowOf<S, T>, '_uuid'>>;
