/**
 * Columns (RFC 7047 §3.2, <column-schema>). What is asked of every datum of a column again and
 * again is worked out once.
 */

import {
  type ColumnType,
  columnTypeToJson,
  hasStrongReference,
  hasWeakReference,
  parseColumnType,
} from '../data/column-type.ts';
import { type Datum, defaultDatum } from '../data/datum.ts';
import { isError, type OvsdbError } from '../data/error.ts';
import { MemberParser } from '../data/member-parser.ts';
import type { Json } from '../json/value.ts';

export interface Column {
  readonly name: string;
  /** Its place in every row of the table. */
  readonly index: number;
  readonly type: ColumnType;
  readonly mutable: boolean;
  /** False: "ephemeral", need not survive a restart. */
  readonly persistent: boolean;
  /** What an insert that does not mention the column stores; one object for all rows. */
  readonly initial: Datum;
  readonly strong: boolean;
  readonly weak: boolean;
}

export function createColumn(
  fields: Pick<Column, 'name' | 'index' | 'type' | 'mutable' | 'persistent'>,
): Column {
  const { type } = fields;
  return {
    ...fields,
    initial: Object.freeze(defaultDatum(type)),
    strong: hasStrongReference(type),
    weak: hasWeakReference(type),
  };
}

export function parseColumn(json: Json, name: string, index: number): Column | OvsdbError {
  const parser = new MemberParser(json, `schema for column ${name}`);
  const mutable = parser.optionalBoolean('mutable') ?? true;
  const ephemeral = parser.optionalBoolean('ephemeral') ?? false;
  const typeJson = parser.stringOrObject('type', true);
  const problem = parser.finish();
  if (problem !== null || typeJson === undefined) return problem as OvsdbError;
  const type = parseColumnType(typeJson);
  if (isError(type)) return type;
  // A weak reference goes when its row goes, whatever the schema says.
  const changes = mutable || hasWeakReference(type);
  return createColumn({ name, index, type, mutable: changes, persistent: !ephemeral });
}

export function columnToJson(column: Column): Json {
  const json: { [member: string]: Json } = {};
  if (!column.mutable) json['mutable'] = false;
  if (!column.persistent) json['ephemeral'] = true;
  json['type'] = columnTypeToJson(column.type);
  return json;
}
