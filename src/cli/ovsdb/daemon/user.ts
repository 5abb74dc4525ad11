/** `--user`: a program that root has started becomes another user, for good. */
import fs from 'node:fs';
import type { Vlog } from '../vlog/vlog.ts';
import { fatalLogged } from './fatal-logged.ts';

/** `spec`: `user`, `user:group` or `:group`. Ends the program where that is not possible. */
export function becomeUser(vlog: Vlog, spec: string, pidfile: string | null): void {
  const where = pidfile ?? '(null)';
  if (process.getuid?.() !== 0 || process.geteuid?.() !== 0) {
    fatalLogged(vlog, 'daemon_unix', `${where}: only root can use --user option`);
  }
  const [user = '', group = ''] = spec.trim().split(':');
  const wanted = group === '' ? mainGroupOf(user) : group;
  if (user !== '' && mainGroupOf(user) === null) {
    fatalLogged(vlog, 'daemon_unix', `${where}: user ${user} not found, aborting.`);
  }
  try {
    if (user !== '' && wanted !== null) process.initgroups?.(user, wanted);
    if (wanted !== null) process.setgid?.(wanted);
    if (user !== '') process.setuid?.(user);
  } catch {
    fatalLogged(vlog, 'daemon_unix', `${where}: group ${group} not found, aborting.`);
  }
}

/** The number of the group that the user belongs to first of all; `null`: there is no such user. */
function mainGroupOf(user: string): number | null {
  for (const line of fs.readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , , group] = line.split(':');
    if (name === user) return Number(group);
  }
  return null;
}
