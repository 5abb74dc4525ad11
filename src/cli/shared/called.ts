/**
 * Commands in hints and errors name the program `roundelay`; in a checkout it is `./roundelay` that
 * was called. What is printed can be typed as it stands.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

const commands =
  'benchmark|dev|experiment|format|help|recover|replay|simulate|start|status|version';
const pattern = new RegExp(`(^|[\\s\`(])roundelay (?=(?:${commands})\\b)`, 'g');

/** The text with its commands as they have to be typed here. `path`: of what was called. */
export function asCalled(
  text: string,
  path: string = process.env['ROUNDELAY_CALLED'] ?? '',
  folder: string = process.cwd(),
): string {
  const name = nameOf(path, folder);
  return name === null
    ? text
    : text.replaceAll(pattern, (_, before: string) => `${before}${name} `);
}

/** `null`: installed, or called in a way that tells nothing. */
function nameOf(path: string, folder: string): string | null {
  if (basename(path) !== 'roundelay') return null;
  if (!existsSync(join(dirname(path), 'bin', 'roundelay.js'))) return null;
  const found = relative(folder, path);
  return found.startsWith('.') ? found : `./${found}`;
}
