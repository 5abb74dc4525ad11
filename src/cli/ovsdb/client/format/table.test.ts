/** Tables in every format, byte by byte as the original prints them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnType, parseColumnType } from '../../../../ovsdb/index.ts';
import { hashOrder } from './hash-order.ts';
import { jsonText, sortedMembers } from './json-text.ts';
import { formatTable, type Table, TablePrinter, type TableStyle } from './table.ts';

const set = parseColumnType({ key: 'string', min: 0, max: 'unlimited' }) as ColumnType;
const map = parseColumnType({ key: 'string', value: 'integer', min: 0, max: 2 }) as ColumnType;
const uuid = parseColumnType('uuid') as ColumnType;
const A = 'a0000000-0000-4000-8000-000000000001';

const table: Table = {
  caption: 'T table',
  headings: ['_uuid', 'tags', 'kv', 'note'],
  rows: [
    [
      { json: ['uuid', A], type: uuid },
      { json: ['set', ['b c', 'a', 'é']], type: set },
      { json: ['map', [['k', 1]]], type: map },
      { text: '"x", <y>' },
    ],
    [{ json: ['uuid', A], type: uuid }, { json: ['set', []], type: set }, {}, { text: A }],
  ],
};

const plain: TableStyle = {
  format: 'table',
  cells: 'string',
  headings: true,
  json: { order: sortedMembers, pretty: false },
  columnWidthMax: 0,
};

function text(style: Partial<TableStyle>, of: Table = table): string {
  return Buffer.from(formatTable(of, { ...plain, ...style }), 'latin1').toString('utf8');
}

test('as a table, whose widths are bytes', () => {
  assert.equal(
    text({}),
    `T table
_uuid                                tags             kv    note
------------------------------------ ---------------- ----- ------------------------------------
${A} [a, "b c", "é"] {k=1} "x", <y>
${A} []                     ${A}
`,
  );
  const narrow = text({ columnWidthMax: 4, headings: false });
  assert.equal(narrow, 'T table\na000 [a,  {k=1 "x",\na000 []        a000\n');
});

test('as a list, bare or not', () => {
  const list = text({ format: 'list', cells: 'bare', headings: false });
  assert.equal(list, `T table\n${A}\na b c é\nk=1\n"x", <y>\n\n${A}\n\n\n${A}\n`);
  assert.equal(text({ format: 'list' }).split('\n')[2], 'tags                : [a, "b c", "é"]');
});

test('as CSV and HTML', () => {
  assert.equal(
    text({ format: 'csv' }),
    `T table\n_uuid,tags,kv,note\n${A},"[a, ""b c"", ""é""]",{k=1},"""x"", <y>"\n${A},[],,${A}\n`,
  );
  const html = text({ format: 'html' }).split('\n');
  assert.equal(html[1], '    <caption>T table</caption>');
  assert.equal(html[9], `    <td><a name="${A}">a0000000</a></td>`);
  assert.equal(html[12], '    <td>&quot;x&quot;, &lt;y&gt;</td>');
  assert.equal(html[18], `    <td><a href="#${A}">a0000000</a></td>`);
});

test('as JSON, also pretty', () => {
  assert.equal(
    text({ format: 'json', headings: false }, { headings: ['a'], rows: [[{ json: 1 }], [{}]] }),
    '{"data":[[1],[null]],"headings":["a"]}\n',
  );
  const style = { order: sortedMembers, pretty: true };
  const json = { b: [1, { c: [] }], a: {} };
  assert.equal(
    jsonText(json, style),
    '{\n  "a": {\n    },\n  "b": [\n    1,\n    {\n      "c": []}]}',
  );
});

test('an empty line stands between tables, in formats for people', () => {
  for (const [format, gap] of [
    ['table', '\n'],
    ['csv', '\n'],
    ['html', ''],
    ['json', ''],
  ] as const) {
    let printed = '';
    const printer = new TablePrinter({ ...plain, format }, (bytes) => {
      printed += Buffer.from(bytes).toString('utf8');
    });
    printer.print(table);
    printer.print(table);
    assert.equal(printed, text({ format }) + gap + text({ format }));
  }
});

test('names come in the order of the original hash tables', () => {
  // From its list of tables of the schema of Open vSwitch.
  const declared = ['Open_vSwitch', 'Bridge', 'Port', 'Interface'];
  assert.deepEqual(new Set(hashOrder(declared)), new Set(declared));
  assert.deepEqual(hashOrder(['cksum', 'name', 'version', 'tables']), [
    'cksum',
    'name',
    'version',
    'tables',
  ]);
  assert.deepEqual(hashOrder(['syntax', 'details', 'error']), ['syntax', 'details', 'error']);
  assert.deepEqual(hashOrder(['T', 'U', 'Much_longer_name', 'Z']), [
    'Much_longer_name',
    'Z',
    'U',
    'T',
  ]);
});
