/** The lock of a file that a command is about to write. */
import {
  acquireDatabaseLock,
  type DatabaseLock,
  lockPathOf,
} from '../../../io/append-file/database-lock.ts';
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import { DataFileLockedError } from '../../../io/errors.ts';
import type { ToolContext } from './context.ts';
import { fatal } from './fatal.ts';

/** `prefix`: what the message begins with, which depends on the command. */
export async function lockFile(
  context: ToolContext,
  name: string,
  prefix: string = '',
): Promise<DatabaseLock> {
  try {
    return await acquireDatabaseLock(name);
  } catch (error) {
    const path = lockPathOf(name);
    if (error instanceof DataFileLockedError) {
      const by = error.pid === null ? '' : ` by pid ${error.pid}`;
      const text = `${path}: cannot lock file because it is already locked${by}`;
      context.warn('lockfile', text);
      return fatal(`${prefix}${name}: failed to lock lockfile (${glibcErrorText('EAGAIN')})`);
    }
    const reason = glibcErrorText(error instanceof Error ? (error.cause ?? error) : error);
    context.warn('lockfile', `${path}: failed to open lock file: ${reason}`);
    context.warn('lockfile', `${path}: failed to lock file: ${reason}`);
    return fatal(`${prefix}${name}: failed to lock lockfile (${reason})`);
  }
}
