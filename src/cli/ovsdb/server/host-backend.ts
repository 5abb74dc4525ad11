/**
 * Interim: drives the core by plain sockets, until the host's server is there. Unix and TCP
 * listeners without TLS, no active connections, no probes.
 */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import { type OvsdbStorage, openOvsdbFile } from '../../../host/ovsdb/storage/index.ts';
import { type Json, JsonFramer, type OvsdbError } from '../../../ovsdb/index.ts';
import { OvsdbCore } from '../../../ovsdb/server/index.ts';
import { runDirectory, within } from '../shared/directories.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { Backend, BackendDatabase, RemoteOptions } from './backend.ts';

export interface BackendOptions {
  readonly vlog: Vlog;
  readonly columnDiff: boolean;
  readonly onChange: () => void;
  readonly onReplicationEnd: (name: string) => void;
}

export function createBackend({ vlog, columnDiff, onChange }: BackendOptions): Backend {
  const uuids = (): string => randomUUID();
  const core = new OvsdbCore({ uuids, serverId: randomUUID() });
  core.columnDiff = columnDiff;
  core.dateOffsetMs = Date.now() - performance.now();
  const sockets = new Map<number, net.Socket>();
  const files = new Map<string, { path: string; storage: OvsdbStorage }>();
  const listeners = new Map<
    string,
    { server: net.Server; path: string | null; ids: Set<number> }
  >();
  let scheduled = false;
  let timer: NodeJS.Timeout | null = null;
  let revisions = '';

  const drain = (): void => {
    for (const effect of core.takeEffects()) {
      if (effect.kind === 'send') {
        const socket = sockets.get(effect.session);
        if (socket !== undefined && !socket.write(effect.text)) core.backlogged(effect.session);
      } else if (effect.kind === 'drop') {
        vlog.log('ovsdb_jsonrpc_server', 'INFO', `disconnecting (${effect.reason})`);
        sockets.get(effect.session)?.destroySoon();
        sockets.delete(effect.session);
      } else if (effect.kind === 'append') files.get(effect.database)?.storage.append(effect);
    }
    const now = core
      .databaseNames()
      .map((name) => `${name}:${core.revision(name)}`)
      .join();
    if (now !== revisions) onChange();
    revisions = now;
    const deadline = core.deadlineMs();
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (deadline === null) return;
    if (deadline <= performance.now()) wake();
    else timer = setTimeout(tick, deadline - performance.now() + 1);
  };
  const tick = (): void => {
    scheduled = false;
    core.tick(performance.now());
    drain();
  };
  const wake = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(tick);
  };
  const accept = (socket: net.Socket, options: RemoteOptions, ids: Set<number>): void => {
    const { readOnly, role } = options;
    const id = core.openSession({ readOnly, role, clientId: null, label: 'x' });
    ids.add(id);
    sockets.set(id, socket);
    const framer = new JsonFramer();
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.on('drain', () => {
      core.drained(id);
      wake();
    });
    socket.on('data', (chunk) => {
      for (const result of framer.push(chunk as Uint8Array)) {
        if (result.ok) core.receive(id, result.value);
        else core.malformed(id, result.error);
      }
      wake();
    });
    socket.on('close', () => {
      ids.delete(id);
      sockets.delete(id);
      core.closeSession(id);
      wake();
    });
  };
  const listen = async (target: string, options: RemoteOptions): Promise<void> => {
    const ids = new Set<number>();
    const server = net.createServer((socket) => accept(socket, options, ids));
    const [kind, first = '', second] = target.split(':');
    const path = kind === 'punix' ? within(runDirectory(), first) : null;
    if (path !== null) fs.rmSync(path, { force: true });
    const where = path === null ? { port: Number(first || 6640), host: second ?? '::' } : { path };
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ ...where, backlog: 4096 }, resolve);
    });
    const address = server.address();
    if (first === '0' && typeof address === 'object') {
      vlog.log('socket_util', 'INFO', `${target}: listening on port ${address?.port}`);
    }
    listeners.set(target, { server, path, ids });
  };

  return {
    addDatabaseFile: async (path, { continueAfterDamage }) => {
      const opened = await openOvsdbFile({ path, uuids, continueAfterDamage });
      const { database, storage, warnings } = opened;
      for (const { level, text } of warnings) vlog.log('ovsdb_server', level, text);
      if (core.hasDatabase(database.name)) {
        await storage.close();
        throw new Error(`ovsdb error: ${database.name}: duplicate database name`);
      }
      const { name } = database;
      files.set(name, { path, storage });
      core.addDatabase({ name, database, model: 'standalone' }, performance.now());
      storage.start({
        appended: (number) => {
          core.appended(name, number, performance.now());
          drain();
        },
        failed: (number, error: OvsdbError, through) => {
          core.appendFailed(name, number, error, performance.now(), through);
          drain();
        },
        log: (level, text) => vlog.log('ovsdb_file', level, text),
      });
      drain();
      return name;
    },
    removeDatabase: async (name, reason) => {
      core.removeDatabase(name, performance.now(), reason);
      drain();
      await files.get(name)?.storage.close();
      files.delete(name);
    },
    databases: () =>
      core.databaseNames().map(
        (name): BackendDatabase => ({
          name,
          path: files.get(name)?.path ?? null,
          model: 'standalone',
          database: core.database(name),
          storageProblem: files.get(name)?.storage.problem ?? null,
        }),
      ),
    compact: async (name) => {
      drain();
      await files.get(name)?.storage.compact();
    },
    reconnect: (force, reason) => {
      core.dropSessions(reason, { force });
      drain();
    },
    disableMonitorCond: () => {
      core.monitorCond = false;
    },
    internal: (name, operations: readonly Json[]) =>
      new Promise((resolve) => {
        const done = (error: OvsdbError | null): void => resolve(error?.toString() ?? null);
        core.internal(name, operations, performance.now(), done);
        drain();
      }),
    setRemotes: async (remotes) => {
      for (const [target, { server, ids, path }] of listeners) {
        if (remotes.has(target)) continue;
        listeners.delete(target);
        server.close();
        for (const id of ids) sockets.get(id)?.destroy();
        if (path !== null) fs.rmSync(path, { force: true });
      }
      for (const [target, options] of remotes) {
        if (!listeners.has(target)) await listen(target, options);
      }
    },
    setTls: () => {},
    remoteStatus: (target) => {
      const found = listeners.get(target);
      if (found === undefined) return null;
      const address = found.server.address();
      return {
        isConnected: found.ids.size > 0,
        state: null,
        secSinceConnect: null,
        secSinceDisconnect: null,
        lastError: null,
        locksHeld: [],
        locksWaiting: [],
        locksLost: [],
        connections: found.ids.size,
        boundPort: typeof address === 'object' ? (address?.port ?? null) : null,
      };
    },
    memory: () => ({ atoms: core.counters().atoms, sessions: core.counters().sessions }),
    close: async () => {
      for (const { server, path } of listeners.values()) {
        server.close();
        if (path !== null) fs.rmSync(path, { force: true });
      }
      for (const socket of sockets.values()) socket.destroy();
      await Promise.all([...files.values()].map(({ storage }) => storage.close()));
    },
  };
}
