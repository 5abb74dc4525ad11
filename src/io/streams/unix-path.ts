/**
 * Paths of unix sockets. Their address has room for 107 bytes, and folders may be longer; such a
 * path is reached through a descriptor of its folder.
 */
import fs from 'node:fs';
import { basename, dirname } from 'node:path';
import { UNIX_PATH_MAX } from './limits.ts';

/** Calls `use` with a path that fits and leads to the same socket. */
export function withShortPath<T>(path: string, use: (short: string) => T): T {
  if (Buffer.byteLength(path) <= UNIX_PATH_MAX) return use(path);
  const fd = fs.openSync(dirname(path), fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  try {
    return use(`/proc/self/fd/${fd}/${basename(path)}`);
  } finally {
    fs.closeSync(fd);
  }
}
