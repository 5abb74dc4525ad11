/**
 * Planted bugs in the real source: loads a module with one piece of its text replaced, so that a
 * test can show that it notices. A piece that is not there exactly once is an error, so a planted
 * bug cannot quietly disappear when the source changes.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** `url`: of the module, as `new URL('./x.ts', import.meta.url)`. `Module`: its `typeof import`. */
export async function loadMutant<Module>(url: URL, from: string, to: string): Promise<Module> {
  const text = readFileSync(url, 'utf8');
  assert.equal(text.split(from).length, 2, `not there exactly once: ${from}`);
  const planted = text
    .replace(from, () => to)
    .replaceAll(/(from ')(\.[^']+)(')/g, (_, before, path, after) => {
      return before + new URL(path, url).href + after;
    });
  const folder = mkdtempSync(join(tmpdir(), 'roundelay-mutant-'));
  try {
    const path = join(folder, basename(url.pathname));
    writeFileSync(path, planted);
    return (await import(pathToFileURL(path).href)) as Module;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
