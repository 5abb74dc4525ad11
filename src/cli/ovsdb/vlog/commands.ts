/** The log's commands on a control socket. */
import { UnixctlError, type UnixctlServer } from '../../../host/ovsdb/unixctl/index.ts';
import type { Vlog } from './vlog.ts';

export function registerVlogCommands(unixctl: UnixctlServer, vlog: Vlog): void {
  unixctl.register('vlog/set', '{spec | PATTERN:destination:pattern}', 0, Infinity, (specs) => {
    if (specs.length === 0) vlog.setLevels(null, null, 'DBG');
    for (const spec of specs) {
      const problem = vlog.setFromText(spec);
      if (problem !== null) throw new UnixctlError(problem);
    }
    return '';
  });
  unixctl.register('vlog/list', '', 0, 0, () => vlog.levelsTable());
  unixctl.register('vlog/list-pattern', '', 0, 0, () => vlog.patternsTable());
  for (const enabled of [true, false]) {
    const name = `vlog/${enabled ? 'enable' : 'disable'}-rate-limit`;
    unixctl.register(name, '[module]...', 0, Infinity, (modules) => {
      if (modules.length === 0) vlog.setRateLimits(null, enabled);
      for (const module of modules) {
        const all = module.toLowerCase() === 'any';
        const isKnown = vlog.setRateLimits(all ? null : module, enabled);
        if (!isKnown) throw new UnixctlError('unknown module');
      }
      return '';
    });
  }
  unixctl.register('vlog/reopen', '', 0, 0, () => {
    const path = vlog.filePath;
    if (path === null) throw new UnixctlError('Logging to file not configured');
    const problem = vlog.openFile(path);
    if (problem !== null) throw new UnixctlError(problem);
    return '';
  });
  unixctl.register('vlog/close', '', 0, 0, () => {
    vlog.closeFile();
    return '';
  });
  unixctl.register('vlog/message', null, 1, 1, ([text = '']) => {
    vlog.log('vlog', 'INFO', `user-message: ${text}`);
    return '';
  });
}
