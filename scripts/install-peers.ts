/**
 * Installs what the tests compare ours with: the original Open vSwitch, OVN and etcd programs, from
 * Debian's packages, without letting them start any service. First step of `npm test` and of CI:
 *
 *   node scripts/install-peers.ts
 *
 * Quick when everything is there. Where it cannot install (not root, not Debian) it says loudly
 * what will be skipped and goes on; with CI or ROUNDELAY_PEERS=required that is a failure.
 */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, delimiter, join } from 'node:path';

/** Package → programs that tests start; a module of Python counts as none. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'openvswitch-common': ['ovsdb-tool', 'ovsdb-client', 'ovs-appctl'],
  'openvswitch-switch': ['ovsdb-server', 'ovs-vsctl', 'ovs-vswitchd'],
  'ovn-common': ['ovn-nbctl', 'ovn-sbctl'],
  'ovn-central': ['ovn-northd'],
  'ovn-host': ['ovn-controller'],
  'python3-openvswitch': [],
  'etcd-server': ['etcd'],
  'etcd-client': ['etcdctl'],
};

/** Programs that packages would leave running. */
const DAEMONS = new Set([
  'ovs-vswitchd',
  'ovsdb-server',
  'ovn-northd',
  'ovn-controller',
  'ovs-monitor-ipsec',
  'etcd',
]);

/** What the installation needs of the machine; a test has another one. */
export interface Machine {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  /** Whether a program is on the PATH or among Debian's servers. */
  has(program: string): boolean;
  /** Exit code and output of a program. */
  run(command: string, parameters: readonly string[]): { code: number; output: string };
  /** Packages may start no service until the returned function is called. */
  forbidServices(): () => void;
  /** Pids of running {@link DAEMONS}. */
  daemons(): number[];
  end(pid: number): void;
  say(line: string): void;
}

/** Installs what is missing; the exit code. */
export function installPeers(machine: Machine): number {
  const absent = missing(machine);
  if (absent.length === 0) return 0;
  const required =
    (machine.environment['CI'] ?? '') !== '' ||
    machine.environment['ROUNDELAY_PEERS'] === 'required';
  const problem = install(machine, absent);
  if (problem === null) return 0;
  machine.say('');
  machine.say(`*** ${problem}`);
  machine.say(`*** Not installed: ${absent.join(' ')}`);
  machine.say(
    required
      ? '*** They are required here (CI or ROUNDELAY_PEERS=required).'
      : '*** TESTS THAT COMPARE WITH THE ORIGINAL PROGRAMS WILL BE SKIPPED.',
  );
  machine.say('');
  return required ? 1 : 0;
}

/** Packages of which something is not there. */
function missing(machine: Machine): string[] {
  const names = Object.keys(PACKAGES);
  const isDebian = machine.has('dpkg-query');
  const format = ['Package} ', 'db:Status-Status}\\n'].map((field) => `\${${field}`).join('');
  const { output } = isDebian
    ? machine.run('dpkg-query', ['--show', `--showformat=${format}`, ...names])
    : { output: '' };
  return names.filter((name) => {
    const programs = PACKAGES[name] as readonly string[];
    if (!programs.every((program) => machine.has(program))) return true;
    // Programs may come from elsewhere than from packages; a module of Python shows only here.
    return isDebian && programs.length === 0 && !output.includes(`${name} installed\n`);
  });
}

/** Why it did not happen; `null`: everything is there. */
function install(machine: Machine, packages: readonly string[]): string | null {
  if (!machine.has('apt-get')) return 'No apt-get: this machine is not like Debian.';
  if (!machine.isRoot) return `Not root: run  sudo apt-get install ${packages.join(' ')}`;
  const before = new Set(machine.daemons());
  const permit = machine.forbidServices();
  try {
    machine.say(`Installing for the tests: ${packages.join(' ')}`);
    let result = aptGet(machine, ['install', ...packages]);
    if (result.code !== 0) {
      const update = aptGet(machine, ['update']);
      if (update.code === 0) result = aptGet(machine, ['install', ...packages]);
    }
    if (result.code !== 0) {
      return `apt-get failed:\n${result.output.trim().split('\n').slice(-8).join('\n')}`;
    }
  } finally {
    permit();
    quiet(machine, packages, before);
  }
  const still = missing(machine);
  return still.length === 0 ? null : `Still missing after the installation: ${still.join(' ')}`;
}

function aptGet(machine: Machine, parameters: readonly string[]): { code: number; output: string } {
  const options = ['-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
  return machine.run('apt-get', [...options, ...parameters]);
}

/** Whatever a package has started in spite of all is ended, and does not come at the next boot. */
function quiet(machine: Machine, packages: readonly string[], before: ReadonlySet<number>): void {
  if (machine.has('systemctl')) {
    const units = packages.map((name) => (name.startsWith('etcd') ? 'etcd' : name));
    machine.run('systemctl', ['disable', '--now', '--quiet', ...units]);
  }
  for (const pid of machine.daemons()) if (!before.has(pid)) machine.end(pid);
}

/** Answers «no» to every service that a package wants to start. */
const POLICY = '/usr/sbin/policy-rc.d';

const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/** @internal The machine on which this runs. */
export const thisMachine: Machine = {
  environment: process.env,
  isRoot: process.getuid?.() === 0,
  has(program) {
    return folders.some((folder) => {
      try {
        accessSync(join(folder, program), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  },
  run(command, parameters) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
    const result = spawnSync(command, parameters, {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 600_000,
      maxBuffer: 1 << 26,
    });
    const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`;
    return { code: result.status ?? 1, output };
  },
  forbidServices() {
    // A machine that has a policy of its own keeps it.
    if (existsSync(POLICY)) return () => {};
    writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
    return () => rmSync(POLICY, { force: true });
  },
  daemons() {
    if (!existsSync('/proc/self/exe')) return [];
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return DAEMONS.has(basename(readlinkSync(`/proc/${pid}/exe`)));
        } catch {
          return false;
        }
      });
  },
  end(pid) {
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // It has ended by itself.
    }
  },
  say(line) {
    process.stderr.write(`${line}\n`);
  },
};

if (import.meta.main) process.exitCode = installPeers(thisMachine);
