/** What `startReplica` is asked for, checked and completed before anything is touched. */
import {
  type AnyMachineDefinition,
  type EngineName,
  type Machine,
  type MachineDefinition,
  RAFT_REPLICAS_MAX,
  REPLICAS_MAX,
} from '../../engine/index.ts';
import { type Address, AddressError, addressText, parseAddress } from '../../io/index.ts';
import type { TopologyName } from '../../vsr/index.ts';
import type { Checksum } from '../../wire/index.ts';
import type { HomeOptions } from '../homes/open-home.ts';
import { type ClusterId, clusterBytes, OptionError } from '../options.ts';

export type MachineFactory = (checksum: Checksum) => Machine;

/** What decides which replica this is, and of what. */
export interface ReplicaIdentityOptions<S, C, R> {
  /** Both keep what they acknowledge and agree on one order; see docs for what they differ in. */
  readonly engine: EngineName;
  /** What `defineMachine` made, or a function that makes a `Machine`. The same on all replicas. */
  readonly machine: MachineDefinition<S, C, R, unknown, unknown> | MachineFactory;
  /**
   * With a function: names the machine in the name of the data file. `[a-z][a-z0-9-]*`, at most 32
   * characters. Default `machine`.
   */
  readonly name?: string;
  /**
   * Of all replicas, in order, the same everywhere: `'10.0.0.1:3001,10.0.0.2:3001'`, or a list.
   * IP addresses; this replica listens on its own. 1 to 6 with VSR, 1 to 7 with Raft. Port 0 (the
   * system chooses) for a single replica only, as nobody could know the others: see `freePorts`.
   */
  readonly addresses: string | readonly (string | Address)[];
  /** Index of this replica. Default 0. */
  readonly replica?: number;
  /** 0 … 2^128 − 1. Default 0. Clients must name the same. */
  readonly cluster?: ClusterId;
  /** A small data file and requests of 32 KiB at most, instead of 1 MiB; in memory always so. */
  readonly development?: boolean;
  /** VSR: how prepares travel between replicas. */
  readonly topology?: TopologyName;
  /** Raft: how long nobody hears from a leader before there is another, ms; of a new cluster. */
  readonly electionTimerMs?: number;
  /**
   * Raft: how long a log gets before the state is written down and the log begins anew, bytes (or
   * twice what the state takes, if that is more). Default 16 MiB.
   */
  readonly snapshotBytesMin?: number;
}

export interface ReplicaPlan {
  readonly home: HomeOptions;
  readonly addresses: readonly Address[];
  /** `null`: the machine is somebody's own class. */
  readonly definition: AnyMachineDefinition | null;
  readonly makeMachine: MachineFactory;
}

const NAME_DEFAULT = 'machine';
const ELECTION_TIMER_MS_DEFAULT = 1_000;
const ELECTION_TIMER_MS_MIN = 100;
const ELECTION_TIMER_MS_MAX = 600_000;
const SNAPSHOT_BYTES_MIN = 4_096;
const SNAPSHOT_BYTES_MAX = 1_073_741_824;

/** @throws OptionError, AddressError */
export function planOf<S, C, R>(options: ReplicaIdentityOptions<S, C, R>): ReplicaPlan {
  const { engine, machine, replica = 0, cluster = 0 } = options;
  if (engine !== 'vsr' && engine !== 'raft') {
    throw new OptionError('engine', engine, "give 'vsr' or 'raft'");
  }
  const addresses = addressesOf(options.addresses, engine);
  if (!Number.isInteger(replica) || replica < 0 || replica >= addresses.length) {
    throw new OptionError('replica', replica, `give 0 to ${addresses.length - 1}`);
  }
  checkCluster(cluster);
  const { electionTimerMs = ELECTION_TIMER_MS_DEFAULT, snapshotBytesMin } = options;
  checkRange('electionTimerMs', electionTimerMs, ELECTION_TIMER_MS_MIN, ELECTION_TIMER_MS_MAX);
  if (snapshotBytesMin !== undefined) {
    checkRange('snapshotBytesMin', snapshotBytesMin, SNAPSHOT_BYTES_MIN, SNAPSHOT_BYTES_MAX);
  }
  const definition = typeof machine === 'function' ? null : machine;
  return {
    home: {
      engine,
      name: nameOf(definition?.name ?? options.name ?? NAME_DEFAULT),
      cluster,
      replica,
      replicaCount: addresses.length,
      isDevelopment: options.development,
      topology: options.topology,
      electionTimerMs,
      snapshotBytesMin,
    },
    addresses,
    definition: definition as AnyMachineDefinition | null,
    makeMachine: typeof machine === 'function' ? machine : (checksum) => machine.machine(checksum),
  };
}

function addressesOf(
  given: string | readonly (string | Address)[],
  engine: EngineName,
): readonly Address[] {
  const parts = typeof given === 'string' ? given.split(',') : given;
  const max = engine === 'raft' ? RAFT_REPLICAS_MAX : REPLICAS_MAX;
  if (parts.length === 0 || parts.length > max) {
    throw new AddressError(`${parts.length} addresses given, ${engine} takes 1 to ${max}`);
  }
  const addresses = parts.map((part) =>
    parseAddress(typeof part === 'string' ? part.trim() : addressText(part)),
  );
  if (addresses.length === 1) return addresses;
  if (addresses.some(({ port }) => port === 0)) {
    throw new AddressError('port 0 is possible for a single replica only, give one to each');
  }
  const texts = addresses.map(addressText);
  const twice = texts.find((text, index) => texts.indexOf(text) !== index);
  if (twice !== undefined) throw new AddressError(`address ${twice} is given twice`);
  return addresses;
}

function checkRange(option: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new OptionError(option, value, `give ${min} to ${max}`);
}

function checkCluster(cluster: ClusterId): void {
  try {
    clusterBytes(cluster);
  } catch {
    throw new OptionError('cluster', String(cluster), 'give 0 to 2^128 − 1');
  }
}

function nameOf(name: string): string {
  if (/^[a-z][a-z0-9-]{0,31}$/.test(name)) return name;
  throw new OptionError('name', name, 'give a lower case letter, then letters, digits and dashes');
}
