/** compare-versions: answers by its exit code. */
import type { ToolContext } from './context.ts';
import { Fatal, fatal } from './fatal.ts';

/** Exit code of a comparison that does not hold. */
const NO = 2;

const comparisons: { readonly [operator: string]: (order: number) => boolean } = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '==': (order) => order === 0,
  '>=': (order) => order >= 0,
  '>': (order) => order > 0,
  '!=': (order) => order !== 0,
};

export function compareVersions({ args }: ToolContext): void {
  const [a, b] = [parseVersion(args[0]), parseVersion(args[2])];
  const differing = a.findIndex((number, i) => number !== b[i]);
  const order = differing === -1 ? 0 : a[differing] - b[differing];
  const operator = args[1];
  if (!Object.hasOwn(comparisons, operator)) fatal(`${operator}: not a relational operator`);
  if (!comparisons[operator](order)) throw new Fatal(null, NO);
}

function parseVersion(text: string): number[] {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (match === null) return fatal(`${text}: not an OVSDB version number in format x.y.z`);
  return match.slice(1).map(Number);
}
