/** Backups and relays over real sockets: two or three servers in this process. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectOvsdb } from '../../client/ovsdb/index.ts';
import { compareText, Database, isError, type Json, parseSchema } from '../../ovsdb/index.ts';
import { defaultRemoteOptions, OvsdbServer } from './index.ts';
import type { OvsdbServerOptions } from './options.ts';

const columns = { name: { type: 'string' }, n: { type: 'integer' } };
const schema = parseSchema({
  name: 'D',
  version: '1.0.0',
  tables: { T: { columns, isRoot: true }, U: { columns, isRoot: true } },
});
assert.ok(!isError(schema));

const options = { ...defaultRemoteOptions, maxBackoffMs: 1000 };

class Place implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'followers-'));
  readonly #servers: OvsdbServer[] = [];

  server(settings: OvsdbServerOptions = {}): OvsdbServer {
    const server = new OvsdbServer({ runDirectory: this.folder, ...settings });
    this.#servers.push(server);
    return server;
  }

  /** A server of the database, listening on the unix socket of that name. */
  async serving(name: string, settings: OvsdbServerOptions = {}): Promise<OvsdbServer> {
    const server = this.server(settings);
    assert.ok(!isError(schema));
    server.addDatabase(new Database(schema));
    await this.listen(server, name);
    return server;
  }

  async listen(server: OvsdbServer, name: string): Promise<void> {
    await server.setRemotes(new Map([[`punix:${name}`, options]]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server.close();
    rmSync(this.folder, { recursive: true });
  }
}

const insert = (table: string, name: string): Json => ({ op: 'insert', table, row: { name } });

function namesIn(server: OvsdbServer, table: string): string[] {
  const database = server.databases().find(({ name }) => name === 'D')?.database;
  const found = database?.tables.get(table);
  // A relay has its columns in another order.
  const index = found?.schema.byName.get('name')?.index ?? 0;
  return [...(found?.rows() ?? [])].map((row) => String(row.datum(index)[0])).sort(compareText);
}

async function until(what: () => boolean, said: () => string): Promise<void> {
  for (let i = 0; !what(); i++) {
    assert.ok(i < 500, said());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function untilNames(server: OvsdbServer, table: string, names: string[]): Promise<void> {
  const wanted = names.join();
  const now = (): string => namesIn(server, table).join();
  await until(
    () => now() === wanted,
    () => `${now()} is not ${wanted}`,
  );
}

test('a backup follows its source, without the tables that are excluded, until it is promoted', async () => {
  await using place = new Place();
  const active = await place.serving('active');
  const backup = await place.serving('backup');
  await active.internal('D', [insert('T', 'first'), insert('U', 'theirs')]);
  await backup.internal('D', [insert('T', 'stray'), insert('U', 'ours')]);
  const source = { target: 'unix:active', options, exclude: 'U,E:T' };
  await backup.replicate('D', source);
  await untilNames(backup, 'T', ['first']);
  assert.equal(backup.replicationStatus('D'), 'replicating: unix:active\nexclude: D:U');
  assert.deepEqual(namesIn(backup, 'U'), ['ours']);
  await active.internal('D', [insert('T', 'second')]);
  await untilNames(backup, 'T', ['first', 'second']);

  const remote = `unix:${join(place.folder, 'backup')}`;
  await using before = await connectOvsdb({ remote, database: 'D' });
  await assert.rejects(before.transact([insert('T', 'no')] as never), /read only/);
  // Clients are hung up on, so that they notice.
  await backup.replicate('D', null);
  await using client = await connectOvsdb({ remote, database: 'D' });
  await client.transact([insert('T', 'yes')] as never);
  await active.internal('D', [insert('T', 'unheard')]);
  assert.deepEqual(namesIn(backup, 'T'), ['first', 'second', 'yes']);
});

test('a backup finds its source again', async () => {
  await using place = new Place();
  const backup = await place.serving('backup');
  await backup.replicate('D', { target: 'unix:active', options, exclude: null });
  assert.equal(backup.replicationStatus('D'), 'connecting: unix:active');
  const first = await place.serving('active');
  await first.internal('D', [insert('T', 'first')]);
  await untilNames(backup, 'T', ['first']);
  await first.close();
  const second = await place.serving('active');
  await second.internal('D', [insert('T', 'second')]);
  await untilNames(backup, 'T', ['second']);
});

test('a server that is told to copy itself refuses, and stays its own master', async () => {
  await using place = new Place();
  const ended: string[] = [];
  const server = await place.serving('me', { onReplicationEnd: (name) => ended.push(name) });
  await server.internal('D', [insert('T', 'precious')]);
  await server.replicate('D', { target: 'unix:me', options, exclude: null });
  await until(
    () => ended.length > 0,
    () => 'it has not refused',
  );
  const remote = `unix:${join(place.folder, 'me')}`;
  await using client = await connectOvsdb({ remote, database: 'D' });
  await client.transact([insert('T', 'more')] as never);
  assert.deepEqual(namesIn(server, 'T'), ['more', 'precious']);
  assert.equal(server.replicationStatus('D'), '');
});

test('a relay serves what its source has, sends writes on, and changes its source', async () => {
  await using place = new Place();
  const [one, two] = [await place.serving('one'), await place.serving('two')];
  await one.internal('D', [insert('T', 'one')]);
  await two.internal('D', [insert('T', 'two')]);
  const relay = place.server();
  await relay.addRelay('D', { target: 'unix:none,unix:one', options });
  await place.listen(relay, 'relay');
  await untilNames(relay, 'T', ['one']);
  const remote = `unix:${join(place.folder, 'relay')}`;
  await using client = await connectOvsdb({ remote, database: 'D', leaderOnly: false });
  await client.transact([insert('T', 'through')] as never);
  assert.deepEqual(namesIn(one, 'T'), ['one', 'through']);
  assert.deepEqual(namesIn(relay, 'T'), ['one', 'through']);
  await relay.setRelaySource('D', { target: 'unix:two', options });
  await untilNames(relay, 'T', ['two']);
});

test('a relay of a relay', async () => {
  await using place = new Place();
  const source = await place.serving('source');
  const near = place.server();
  await near.addRelay('D', { target: 'unix:source', options });
  await place.listen(near, 'near');
  await untilNames(near, 'T', []);
  const far = place.server();
  await far.addRelay('D', { target: 'unix:near', options });
  await place.listen(far, 'far');
  const remote = `unix:${join(place.folder, 'far')}`;
  await using client = await connectOvsdb({ remote, database: 'D', leaderOnly: false });
  await client.transact([insert('T', 'deep')] as never);
  assert.deepEqual(namesIn(source, 'T'), ['deep']);
  assert.deepEqual(namesIn(far, 'T'), ['deep']);
});
