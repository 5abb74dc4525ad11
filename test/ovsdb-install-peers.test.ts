/** The installer of the original programs, on machines that do not exist. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installPeers, type Machine, PACKAGES } from '../scripts/install-peers.ts';

interface Fake {
  readonly machine: Machine;
  readonly said: string[];
  readonly ran: string[];
  readonly ended: number[];
  forbidden: boolean;
}

interface Options {
  readonly isRoot?: boolean;
  readonly isDebian?: boolean;
  readonly environment?: Record<string, string>;
  /** Already installed packages. */
  readonly installed?: readonly string[];
  /** Lists of packages are there before an update. */
  readonly hasLists?: boolean;
  readonly works?: boolean;
}

function fake(options: Options): Fake {
  const { isRoot = true, isDebian = true, hasLists = true, works = true } = options;
  const installed = new Set(options.installed ?? []);
  let lists = hasLists;
  let daemons = [7];
  const state: Fake = { machine: {} as Machine, said: [], ran: [], ended: [], forbidden: false };
  const apt = (parameters: readonly string[]): number => {
    if (parameters.includes('update')) lists = works;
    if (parameters.includes('install')) {
      if (!works || !lists) return 100;
      assert.ok(state.forbidden, 'services could start');
      for (const name of parameters) if (name in PACKAGES) installed.add(name);
      daemons = [7, 8];
    }
    return 0;
  };
  const machine: Machine = {
    environment: options.environment ?? {},
    isRoot,
    has: (program) =>
      (isDebian && ['dpkg-query', 'apt-get'].includes(program)) ||
      [...installed].some((name) => PACKAGES[name]?.includes(program)),
    run(command, parameters) {
      state.ran.push([command, ...parameters].join(' '));
      if (command === 'apt-get') return { code: apt(parameters), output: 'E: no luck' };
      return { code: 0, output: [...installed].map((name) => `${name} installed\n`).join('') };
    },
    forbidServices() {
      state.forbidden = true;
      return () => {
        state.forbidden = false;
      };
    },
    daemons: () => daemons,
    end: (pid) => state.ended.push(pid),
    say: (line) => state.said.push(line),
  };
  return Object.assign(state, { machine });
}

const all = Object.keys(PACKAGES);

test('nothing is missing: nothing runs but a question, nothing is said', () => {
  const { machine, ran, said } = fake({ installed: all });
  assert.equal(installPeers(machine), 0);
  assert.equal(ran.length, 1);
  assert.match(ran[0] as string, /^dpkg-query /);
  assert.deepEqual(said, []);
});

test('only what is missing is installed, what it starts is ended, what ran before stays', () => {
  const state = fake({ installed: all.slice(2) });
  assert.equal(installPeers(state.machine), 0);
  const line = state.ran.find((command) => command.includes('install '));
  assert.match(line as string, /install openvswitch-common openvswitch-switch$/);
  assert.ok(!state.ran.some((command) => command.endsWith('update')));
  assert.deepEqual(state.ended, [8]);
  assert.equal(state.forbidden, false);
});

test('a package without programs is asked of the package manager', () => {
  const state = fake({ installed: all.filter((name) => name !== 'python3-openvswitch') });
  assert.equal(installPeers(state.machine), 0);
  assert.ok(state.ran.some((command) => command.endsWith('install python3-openvswitch')));
});

test('lists of packages are fetched when the first try fails', () => {
  const state = fake({ hasLists: false });
  assert.equal(installPeers(state.machine), 0);
  assert.equal(state.ran.filter((command) => command.endsWith('update')).length, 1);
});

const cannot: readonly (readonly [string, Options])[] = [
  ['not root', { isRoot: false }],
  ['not Debian', { isDebian: false }],
  ['packages cannot be had', { works: false }],
];
for (const [name, options] of cannot) {
  test(`${name}: said loudly, and a failure only where they are required`, () => {
    const newcomer = fake(options);
    assert.equal(installPeers(newcomer.machine), 0);
    assert.match(newcomer.said.join('\n'), /WILL BE SKIPPED/);
    assert.match(newcomer.said.join('\n'), /openvswitch-switch/);
    assert.equal(newcomer.forbidden, false);
    for (const environment of [{ CI: 'true' }, { ROUNDELAY_PEERS: 'required' }]) {
      const required = fake({ ...options, environment });
      assert.equal(installPeers(required.machine), 1);
      assert.match(required.said.join('\n'), /required/);
    }
  });
}
