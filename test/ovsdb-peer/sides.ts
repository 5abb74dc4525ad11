/**
 * Two servers beside each other: the original as a process, ours inside this process, each on a
 * fresh database and a unix socket. With OVSDB_OURS=original the original stands on both sides,
 * which shows what the comparison itself makes of equal servers.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOvsdb } from '../../src/host/ovsdb/index.ts';
import { executable } from './peer.ts';
import { WireSession } from './wire-session.ts';

export interface Side {
  readonly name: 'theirs' | 'ours';
  connect(): Promise<WireSession>;
  stop(): Promise<void>;
}

/** A folder of their own, and a schema as JSON text. */
export async function startBoth(schema: string): Promise<readonly [Side, Side]> {
  const ours = process.env['OVSDB_OURS'] === 'original' ? startOriginal : startOurs;
  return Promise.all([startOriginal('theirs', schema), ours('ours', schema)]);
}

export async function startOriginal(name: Side['name'], schema: string): Promise<Side> {
  const folder = mkdtempSync(join(tmpdir(), 'ovsdb-side-'));
  const database = join(folder, 'db');
  const socket = join(folder, 's');
  writeFileSync(join(folder, 'schema'), schema);
  const tool = executable('ovsdb-tool') as string;
  execFileSync(tool, ['create', database, join(folder, 'schema')]);
  const child = spawn(
    executable('ovsdb-server') as string,
    [database, `--remote=punix:${socket}`, '--unixctl', join(folder, 'ctl'), '-vconsole:off'],
    { stdio: 'ignore', env: { ...process.env, OVS_RUNDIR: folder } },
  );
  const first = await WireSession.open(socket);
  first.destroy();
  return {
    name,
    connect: () => WireSession.open(socket),
    async stop() {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  // It may have ended itself.
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await end;
}

export async function startOurs(name: Side['name'], schema: string): Promise<Side> {
  const folder = mkdtempSync(join(tmpdir(), 'ovsdb-side-'));
  const socket = join(folder, 's');
  const server = await startOvsdb({ schema, remotes: [`punix:${socket}`] });
  return {
    name,
    connect: () => WireSession.open(socket),
    async stop() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
