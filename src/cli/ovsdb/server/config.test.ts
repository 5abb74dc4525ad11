import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configText, databaseFromArgument, parseConfig } from './config.ts';

function parse(text: string): { config: ReturnType<typeof parseConfig>; warnings: string[] } {
  const warnings: string[] = [];
  return { config: parseConfig(text, (warning) => warnings.push(warning)), warnings };
}

test('a configuration survives being written down', () => {
  const { config, warnings } = parse(
    JSON.stringify({
      remotes: {
        'ptcp:1': null,
        'db:a,b,c': {},
        'ssl:x:1': { 'read-only': true, role: 'r', dscp: 3 },
      },
      databases: {
        a: {},
        b: null,
        c: {
          'service-model': 'active-backup',
          backup: true,
          source: { 'tcp:x:1': { 'inactivity-probe': 7, 'max-backoff': 9 } },
          'exclude-tables': ['t', 'u'],
        },
        d: { 'service-model': 'active-backup', backup: false },
        e: { 'service-model': 'relay', source: { 'unix:y': null } },
      },
    }),
  );
  assert.deepEqual(warnings, []);
  assert.ok(config !== null);
  assert.equal(config.remotes.get('ssl:x:1')?.role, 'r');
  assert.equal(config.remotes.get('ssl:x:1')?.readOnly, true);
  assert.equal(config.databases.get('c')?.source?.options.inactivityProbeMs, 7);
  assert.equal(config.databases.get('c')?.syncExclude, 't,u');
  assert.equal(config.databases.get('e')?.source?.options.inactivityProbeMs, 120_000);
  assert.deepEqual(parse(configText(config)).config, config);
});

test('what cannot be used is refused in the words of the original', () => {
  const failed = (part: string): string => `config: failed to parse '${part}'`;
  const table: readonly (readonly [unknown, readonly string[]])[] = [
    [[], ['configuration in a file must be a JSON object']],
    [{ remotes: [] }, ["config: 'remotes' is not a JSON object", failed('remotes')]],
    [
      { remotes: { 'ptcp:1': 3 } },
      ['ptcp:1: JSON-RPC options are not a JSON object or null', failed('remotes')],
    ],
    [
      { databases: { db: { 'service-model': 'x' } } },
      [
        "Unrecognized database service model: 'x'",
        'syntax "{"service-model":"x"}": syntax error: ' +
          "Parsing database db failed: 'x' is not a valid service model",
        failed('databases'),
      ],
    ],
    [
      { databases: { db: { 'service-model': 'relay' } } },
      [
        'syntax "{"service-model":"relay"}": syntax error: ' +
          "Parsing database db failed: Required 'source' member is missing.",
        failed('databases'),
      ],
    ],
  ];
  for (const [json, expected] of table) {
    const { config, warnings } = parse(JSON.stringify(json));
    assert.equal(config, null);
    assert.deepEqual(warnings, expected);
  }
  assert.match(parse('{').warnings[0], /^config: reading JSON failed \(/);
});

test('arguments name files, relays and backups', () => {
  const none = { from: null, exclude: null, active: false };
  assert.deepEqual(databaseFromArgument('conf.db', none)[0], 'conf.db');
  const [name, relay] = databaseFromArgument('relay:OVN_Southbound:tcp:1.1.1.1:2,ssl:b:3', none);
  assert.equal(name, 'OVN_Southbound');
  assert.equal(relay.model, 'relay');
  assert.equal(relay.source?.target, 'tcp:1.1.1.1:2,ssl:b:3');
  assert.equal(databaseFromArgument('relay:OVN_Southbound:', none)[1].model, null);
  const [, backup] = databaseFromArgument('db', { from: 'tcp:a:1', exclude: 'x:y', active: false });
  assert.deepEqual(
    [backup.model, backup.backup, backup.syncExclude],
    ['active-backup', true, 'x:y'],
  );
  const [, active] = databaseFromArgument('db', { from: 'tcp:a:1', exclude: null, active: true });
  assert.equal(active.backup, false);
});
