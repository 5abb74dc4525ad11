/** Where a path leads, whether or not there is a file yet at its end. */
import fs from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { systemCode } from '../errors.ts';

const LINKS_MAX = 20;

/**
 * The path with the symbolic links followed that it names, one after another; the last may lead
 * to nothing. Relative stays relative, so messages show what was typed.
 */
export function followLinks(path: string): string {
  let at = path;
  for (let links = 0; links < LINKS_MAX; links++) {
    let target: string;
    try {
      target = fs.readlinkSync(at);
    } catch {
      return at;
    }
    at = isAbsolute(target) ? target : join(dirname(at), target);
  }
  return at;
}

/** Whether there is a symbolic link at the path, wherever it leads. */
export function isDangling(path: string): boolean {
  try {
    fs.lstatSync(path);
  } catch {
    return false;
  }
  try {
    fs.statSync(path);
    return false;
  } catch (error) {
    return systemCode(error) === 'ENOENT';
  }
}
