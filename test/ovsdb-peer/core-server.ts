/** The core behind a unix socket: what a driver does, as little as possible, without a file. */
import { createServer, type Socket } from 'node:net';
import {
  Database,
  encodeUtf8,
  isError,
  JsonFramer,
  parseJson,
  parseSchema,
  uuidsFromPrng,
} from '../../src/ovsdb/index.ts';
import { OvsdbCore } from '../../src/ovsdb/server/core.ts';
import { Prng } from '../../src/stdx/index.ts';

export interface CoreServer {
  close(): Promise<void>;
}

let seed = 0;

export async function startCore(schemaText: string, path: string): Promise<CoreServer> {
  const json = parseJson(schemaText);
  if (!json.ok) throw new Error(json.error);
  const schema = parseSchema(json.value);
  if (isError(schema)) throw new Error(String(schema));
  const uuids = uuidsFromPrng(new Prng(1000 + ++seed, 1));
  const core = new OvsdbCore({ uuids, serverId: uuids() });
  const now = (): number => performance.now();
  core.addDatabase(
    { name: schema.name, database: new Database(schema), model: 'standalone', journal: 'none' },
    now(),
  );
  const sockets = new Map<number, Socket>();
  let timer: NodeJS.Timeout | null = null;
  let isScheduled = false;
  const pump = (): void => {
    for (const effect of core.takeEffects()) {
      if (effect.kind === 'send') sockets.get(effect.session)?.write(encodeUtf8(effect.text));
      if (effect.kind === 'drop') sockets.get(effect.session)?.end();
    }
    const deadline = core.deadlineMs();
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (deadline === null) return;
    if (deadline <= now()) schedule();
    else timer = setTimeout(work, deadline - now());
  };
  const work = (): void => {
    isScheduled = false;
    core.tick(now());
    pump();
  };
  const schedule = (): void => {
    if (!isScheduled) setImmediate(work);
    isScheduled = true;
  };
  const server = createServer((socket) => {
    const id = core.openSession({ readOnly: false, role: '', clientId: null, label: 'x' });
    sockets.set(id, socket);
    const framer = new JsonFramer();
    socket.on('data', (chunk) => {
      for (const result of framer.push(chunk)) {
        if (result.ok) core.receive(id, result.value);
        else core.malformed(id, result.error);
      }
      schedule();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(id);
      core.closeSession(id);
      schedule();
    });
  });
  await new Promise<void>((done) => server.listen(path, done));
  return {
    close: () =>
      new Promise((done) => {
        if (timer !== null) clearTimeout(timer);
        for (const socket of sockets.values()) socket.destroy();
        server.close(() => done());
      }),
  };
}
