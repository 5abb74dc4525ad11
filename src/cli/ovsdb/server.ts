/**
 * ovsdb-server: the server as a program. This file decides what this process is to do; the server
 * itself is loaded only by the process that serves.
 */
import { isForeground, startDaemon } from './daemon/daemon.ts';
import { PROGRAM, parseArguments } from './server/options.ts';
import { usage } from './server/usage.ts';
import { exitCodeOf, print, versionText } from './shared/program.ts';
import { takeVlogOption } from './shared/vlog-options.ts';
import { Vlog } from './vlog/vlog.ts';

export function main(argv: readonly string[]): Promise<number> {
  return exitCodeOf(() => run(argv));
}

async function run(argv: readonly string[]): Promise<number> {
  const wanted = parseArguments(argv);
  if (wanted === 'help' || wanted === 'version') {
    print(wanted === 'help' ? usage(PROGRAM) : `${versionText(PROGRAM)}\n`);
    return 0;
  }
  const vlog = new Vlog(PROGRAM);
  if (!isForeground(wanted.daemon)) {
    for (const option of wanted.logging) takeVlogOption(vlog, option);
  }
  const daemon = await startDaemon(vlog, wanted.daemon);
  if (typeof daemon === 'number') return daemon;
  const { serve } = await import('./server/serve.ts');
  return await serve(vlog, wanted, daemon);
}
