/** The program as users get it, for benchmarks: packed, unpacked, and started from there. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Launcher } from '../src/lab/index.ts';

const root = resolve(import.meta.dirname, '..');

/** Packs this checkout and unpacks it below `folder` as an installation would. */
export function packedLauncher(folder: string): Launcher {
  process.stderr.write('packing\n');
  const output = execFileSync('npm', ['pack', '--json', `--pack-destination=${folder}`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // What the build prints comes before the JSON.
  const text = output.toString();
  const filename = /"filename":\s*"([^"]+)"/.exec(text)?.[1] ?? '';
  const modules = join(folder, 'app', 'node_modules');
  const target = join(modules, 'roundelay');
  mkdirSync(target, { recursive: true });
  const archive = join(folder, filename);
  execFileSync('tar', ['-xzf', archive, '-C', target, '--strip-components=1']);
  const manifest: { dependencies: object } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  for (const name of Object.keys(manifest.dependencies)) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  const executable = join(root, 'node_modules', '.bin', 'node');
  return {
    executable: existsSync(executable) ? executable : process.execPath,
    arguments: [join(target, 'bin', 'roundelay.js')],
  };
}
