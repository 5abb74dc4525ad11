/** Where the time goes: a V8 CPU profile as a table of functions by their own time. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  /** Microseconds between samples. */
  readonly timeDeltas: readonly number[];
}

/** Flags for a Node whose profile is to be written into this folder at its end. */
export function profileFlags(folder: string): string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}

/** The largest profile of a folder as lines: share of the busy time, time, function, place. */
export function profileTable(folder: string, lines: number = 30): string[] {
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .sort((a, b) => b.length - a.length);
  if (texts[0] === undefined) return ['no profile was written'];
  const profile: Profile = JSON.parse(texts[0]);
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const selfUs = new Map<string, number>();
  for (const [index, id] of profile.samples.entries()) {
    const name = names.get(id) ?? '?';
    selfUs.set(name, (selfUs.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  const idleUs = (selfUs.get('(idle)') ?? 0) + (selfUs.get('(program)') ?? 0);
  const totalUs = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
  const busyUs = totalUs - idleUs;
  const sorted = [...selfUs].sort((a, b) => b[1] - a[1]).slice(0, lines);
  const head = `busy ${(busyUs / 1e6).toFixed(2)} s of ${(totalUs / 1e6).toFixed(2)} s`;
  const rows = sorted.map(([name, us]) => {
    const share = ((100 * us) / busyUs).toFixed(1).padStart(5);
    return `${share} % ${(us / 1000).toFixed(0).padStart(7)} ms  ${name}`;
  });
  return [head, ...rows];
}

function nameOf(frame: Profile['nodes'][number]['callFrame']): string {
  const { functionName, url, lineNumber } = frame;
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const path = url.split('/').slice(-3).join('/');
  return `${name}  ${path}:${lineNumber + 1}`;
}
