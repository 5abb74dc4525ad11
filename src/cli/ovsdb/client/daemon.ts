/**
 * Running in the background, as far as commands know of it: when the caller may go on, and what a
 * control socket may ask of a command meanwhile. Loaded only when an option asks for any of it.
 */
import { UnixctlServer } from '../../../host/ovsdb/unixctl/index.ts';
import { parseJson } from '../../../ovsdb/json/parse.ts';
import { type Daemon, startDaemon } from '../daemon/daemon.ts';
import { endOnSignals } from '../daemon/signals.ts';
import type { DaemonSettings } from '../shared/daemon-options.ts';
import { runDirectory } from '../shared/directories.ts';
import { fatal as endProgram, ProgramExit, versionText } from '../shared/program.ts';
import { registerVlogCommands } from '../vlog/commands.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { Rpc } from './connection/rpc.ts';
import type { Control, DaemonControl } from './daemon-control.ts';
import { PROGRAM } from './fatal.ts';
import type { LockMethod } from './lock.ts';

export class BackgroundControl implements DaemonControl {
  readonly #settings: DaemonSettings;
  readonly #vlog: Vlog;
  #daemon: Daemon | null = null;

  constructor(settings: DaemonSettings, vlog: Vlog) {
    this.#settings = settings;
    this.#vlog = vlog;
  }

  async start(): Promise<Control | null> {
    const daemon = await startDaemon(this.#vlog, this.#settings);
    // Another process does the work.
    if (typeof daemon === 'number') throw new ProgramExit(daemon);
    this.#daemon = daemon;
    if (!this.#settings.detach) {
      endOnSignals(this.#vlog, async () => {});
      return null;
    }
    const server = new UnixctlServer({ version: versionText(PROGRAM) });
    endOnSignals(this.#vlog, () => server.close());
    registerVlogCommands(server, this.#vlog);
    const control = new SocketControl(server);
    try {
      await server.listen(`${runDirectory()}/${PROGRAM}.${process.pid}.ctl`);
    } catch (error) {
      endProgram(PROGRAM, 'failed to create unixctl server', error);
    }
    return control;
  }

  async ready(keptFiles: readonly number[]): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    daemon?.ready(keptFiles);
  }

  async detach(): Promise<void> {
    const daemon = await startDaemon(this.#vlog, this.#settings);
    if (typeof daemon === 'number') throw new ProgramExit(daemon);
    daemon.ready([1, 2]);
  }
}

/** The reply to `exit` leaves before the process does, ms. */
const LEAVE_MS = 10;

class SocketControl implements Control {
  readonly #server: UnixctlServer;
  #blocked: PromiseWithResolvers<void> | null = null;

  constructor(server: UnixctlServer) {
    this.#server = server;
    server.register('exit', '', 0, 0, () => {
      setTimeout(() => void server.close().finally(() => process.exit(0)), LEAVE_MS);
      return '';
    });
  }

  serve(rpc: Rpc): void {
    this.#server.register('ovsdb-client/block', '', 0, 0, () => {
      if (this.#blocked !== null) return 'already blocking';
      this.#blocked = Promise.withResolvers();
      rpc.pause();
      return '';
    });
    this.#server.register('ovsdb-client/unblock', '', 0, 0, () => {
      if (this.#blocked === null) return 'already unblocked';
      this.#blocked.resolve();
      this.#blocked = null;
      rpc.resume();
      return '';
    });
    this.#server.register('ovsdb-client/cond_change', 'TABLE COND', 2, 2, (args) => {
      const [table, text] = args as readonly [string, string];
      const condition = parseJson(text);
      const where = condition.ok ? condition.value : condition.error;
      rpc.request('monitor_cond_change', [null, null, { [table]: [{ where }] }]);
      return 'condition changed';
    });
  }

  async unblocked(): Promise<void> {
    while (this.#blocked !== null) await this.#blocked.promise;
  }

  serveLocks(ask: (method: LockMethod, lock: string) => void): void {
    for (const method of ['unlock', 'steal', 'lock'] as const) {
      this.#server.register(method, 'LOCK', 1, 1, ([lock]) => {
        ask(method, lock as string);
        return '';
      });
    }
  }
}
