/**
 * Lists and results of the original's test suite as text, and how they compare with what is
 * known.
 */

export interface SuiteTest {
  readonly number: number;
  /** "server", "tool", …: the part after "ovsdb-" of the file that holds it. */
  readonly group: string;
  /** File and title, and a number where several have the same: the same in every build. */
  readonly key: string;
}

export type SuiteResult = 'ok' | 'failed' | 'skipped';

/** What `--list` prints. */
export function parseList(text: string): SuiteTest[] {
  const seen = new Map<string, number>();
  const tests: SuiteTest[] = [];
  for (const line of text.split('\n')) {
    const match = /^ *(\d+): (?:ovsdb-)?([\w-]+)\.at:\d+ +(.*)$/.exec(line);
    if (match === null || !line.includes('ovsdb-')) continue;
    const [, number, group = '', title = ''] = match;
    const plain = `${group}: ${title.trim()}`;
    const count = (seen.get(plain) ?? 0) + 1;
    seen.set(plain, count);
    tests.push({ number: Number(number), group, key: count === 1 ? plain : `${plain} #${count}` });
  }
  return tests;
}

/** Tests of these groups, and of these numbers where given ("1500-1600,1700"). */
export function wantedTests(
  tests: readonly SuiteTest[],
  groups: string | null,
  numbers: string | null,
): SuiteTest[] {
  const names = groups?.split(',') ?? WIRE_GROUPS;
  const ranges = (numbers?.split(',') ?? []).map((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return [first, last] as [number, number];
  });
  return tests.filter(({ group, number }) =>
    numbers === null
      ? names.includes(group)
      : ranges.some(([first, last]) => number >= first && number <= last),
  );
}

/** Groups in which our programs run; others test the original's own functions. */
export const WIRE_GROUPS: readonly string[] = [
  'tool',
  'server',
  'client',
  'monitor',
  'lock',
  'rbac',
  'idl',
];

/** What a run prints. */
export function parseResults(output: string): Map<number, SuiteResult> {
  const results = new Map<number, SuiteResult>();
  for (const line of output.split('\n')) {
    const match = /^ *(\d+): .*?\s(ok|FAILED \(.*\)|skipped \(.*\)|expected failure.*)\s*$/.exec(
      line,
    );
    if (match === null) continue;
    const [, number, how = ''] = match;
    const result = how === 'ok' ? 'ok' : how.startsWith('FAILED') ? 'failed' : 'skipped';
    results.set(Number(number), result);
  }
  return results;
}

export interface Judgement {
  readonly report: string;
  readonly isAsExpected: boolean;
  /** Key → reason; new ones have an empty one. */
  readonly failing: Readonly<Record<string, string>>;
  /** Expected to fail, and did not. */
  readonly stale: readonly string[];
}

export function judge(
  wanted: readonly SuiteTest[],
  results: ReadonlyMap<number, SuiteResult>,
  expected: Readonly<Record<string, string>>,
): Judgement {
  const count = { ok: 0, failed: 0, skipped: 0 };
  const failing: Record<string, string> = {};
  const lines: string[] = [];
  const stale: string[] = [];
  let isAsExpected = true;
  const problem = (line: string): void => {
    lines.push(line);
    isAsExpected = false;
  };
  for (const { key, number } of wanted) {
    const result = results.get(number);
    if (result === undefined) {
      problem(`NOT RUN ${number} ${key}`);
      continue;
    }
    count[result] += 1;
    const reason = expected[key];
    if (result === 'failed') {
      failing[key] = reason ?? '';
      if (reason === undefined) problem(`NEW FAILURE ${number} ${key}`);
      else if (reason === '') problem(`NO REASON ${number} ${key}`);
    } else if (reason !== undefined && result === 'ok') {
      stale.push(key);
      problem(`STALE: it passes now: ${number} ${key}`);
    }
  }
  const ran = count.ok + count.failed;
  const share = ran === 0 ? 0 : (100 * count.ok) / ran;
  lines.push(
    `${count.ok} of ${ran} tests passed (${share.toFixed(1)} %), ${count.skipped} skipped,` +
      ` ${Object.keys(failing).length} failed, ${isAsExpected ? 'as expected' : 'NOT AS EXPECTED'}`,
  );
  return { report: lines.join('\n'), isAsExpected, failing, stale };
}
