import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getopt, type LongOption } from './getopt.ts';

const options: readonly LongOption[] = [
  { name: 'more', argument: 'none', short: 'm' },
  { name: 'role', argument: 'required', short: 'r' },
  { name: 'verbose', argument: 'optional', short: 'v' },
  { name: 'version', argument: 'none', short: 'V' },
  { name: 'cid', argument: 'required' },
];

/** `name=argument` of each option, then the rest in brackets, then the problem. */
function read(line: string, permute: boolean = true): string {
  const words = line === '' ? [] : line.split(' ');
  const { options: given, rest, problem } = getopt('prog', words, options, permute);
  const names = given.map(({ name, argument }) =>
    argument === null ? name : `${name}=${argument}`,
  );
  return `${names.join(' ')} [${rest.join(' ')}]${problem === null ? '' : ` ${problem}`}`;
}

test('command lines are read as glibc reads them', () => {
  const table: readonly (readonly [string, string])[] = [
    ['', ' []'],
    ['a b', ' [a b]'],
    ['a -m b --more', 'more more [a b]'],
    ['-mm -mvinfo x', 'more more more verbose=info [x]'],
    ['-v info', 'verbose [info]'],
    ['--verbose=info --verbose x', 'verbose=info verbose [x]'],
    ['-r x -ry --role z --role=', 'role=x role=y role=z role= []'],
    ['--mo --ci=1', 'more cid=1 []'],
    ['a -- -m --nope', ' [a -m --nope]'],
    ['a - -m', 'more [a -]'],
    ['-m --nope -m', "more [-m] prog: unrecognized option '--nope'"],
    ['--nope=3', " [] prog: unrecognized option '--nope=3'"],
    ['--ver=3', " [] prog: option '--ver=3' is ambiguous; possibilities: '--verbose' '--version'"],
    ['-mx', "more [] prog: invalid option -- 'x'"],
    ['-r', " [] prog: option requires an argument -- 'r'"],
    ['--role', " [] prog: option '--role' requires an argument"],
    ['--ro', " [] prog: option '--role' requires an argument"],
    ['--more=1', " [] prog: option '--more' doesn't allow an argument"],
    ['--ver', " [] prog: option '--ver' is ambiguous; possibilities: '--verbose' '--version'"],
  ];
  for (const [line, expected] of table) assert.equal(read(line), expected, line);
});

test('where options end at the first argument, they do', () => {
  assert.equal(read('-m a -m', false), 'more [a -m]');
});
