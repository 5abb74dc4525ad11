/**
 * Which scenarios are measured: everything, with many seeds, when there is time; or a selection of
 * which each change can afford a few seeds, and in which every topology and every trouble occurs.
 */
import { TOPOLOGY_NAMES } from '../../vsr/index.ts';
import { type NetworkName, type Scenario, scenarioName, type Trouble } from './scenario.ts';

export const REPLICA_COUNTS: readonly number[] = [3, 4, 5, 6];
const CLIENTS: readonly number[] = [1, 4, 32];
/** Of 1,000 messages. */
const LOSSES: readonly number[] = [0, 50, 300];

/** As many as the published measurements of others were made with. */
const REQUESTS_RECORD = 256;
/** In `hops` nothing varies, so a few tell everything. */
const REQUESTS_HOPS = 48;
/** Elsewhere seeds tell more than longer runs. */
const REQUESTS = 64;
/** Enough for a replica that returns halfway to have missed a lot. */
const REQUESTS_RETURN = 128;

const TROUBLES: readonly Trouble[] = [
  { kind: 'slow-disk', distance: 1 },
  { kind: 'slow-link', distance: 1 },
  { kind: 'returns', distance: 1, by: 'log' },
  { kind: 'returns', distance: 1, by: 'checkpoint' },
  { kind: 'deaf', distance: 1 },
  { kind: 'mute', distance: 1 },
  { kind: 'deaf', distance: 0 },
  { kind: 'mute', distance: 0 },
  { kind: 'killed', isSilent: false },
  { kind: 'killed', isSilent: true },
];

function requestsOf({ kind }: Trouble): number {
  return kind === 'returns' ? REQUESTS_RETURN : REQUESTS;
}

/** Nobody, and each backup on its own. */
function deaths(replicaCount: number): readonly (readonly number[])[] {
  return [[], ...Array.from({ length: replicaCount - 1 }, (_, i) => [i + 1])];
}

/** All that gates speak of: every topology, nobody or one backup dead, time in hops. */
export function hopScenarios(): Scenario[] {
  const scenarios: Scenario[] = [];
  for (const topology of TOPOLOGY_NAMES) {
    for (const replicaCount of REPLICA_COUNTS) {
      for (const dead of deaths(replicaCount)) {
        const network = 'hops';
        const load = { clients: 4, requests: REQUESTS_HOPS };
        scenarios.push({ topology, replicaCount, ...load, network, dead });
      }
    }
  }
  return scenarios;
}

/** Nobody is dead, nothing is lost: what must not happen then, must not happen anywhere. */
export function healthyScenarios(requests: number): Scenario[] {
  const networks: readonly NetworkName[] = ['near', 'far'];
  return TOPOLOGY_NAMES.flatMap((topology) => {
    return networks.map((network) => ({
      topology,
      replicaCount: 6,
      clients: 4,
      requests,
      network,
    }));
  });
}

/** The configuration that others have published figures for: time in ticks of 10 ms. */
export function recordScenarios(): Scenario[] {
  const record = {
    replicaCount: 6,
    clients: 4,
    requests: REQUESTS_RECORD,
    network: 'far',
  } as const;
  return TOPOLOGY_NAMES.flatMap((topology) => [
    { ...record, topology, isWild: true },
    { ...record, topology, isWild: true, losses: 50 },
    { ...record, topology, isWild: true, losses: 300 },
    ...[1, 2, 3, 4, 5].map((distance) => ({ ...record, topology, isWild: true, dead: [distance] })),
  ]);
}

/** Every topology × dead backup × replicas × clients × losses, and every trouble. */
export function fullMatrix(): Scenario[] {
  const scenarios: Scenario[] = [...hopScenarios(), ...healthyScenarios(REQUESTS)];
  for (const topology of TOPOLOGY_NAMES) {
    for (const replicaCount of REPLICA_COUNTS) {
      const cluster = { topology, replicaCount };
      for (const clients of CLIENTS) {
        for (const dead of deaths(replicaCount)) {
          for (const losses of LOSSES) {
            scenarios.push({
              ...cluster,
              requests: REQUESTS,
              clients,
              network: 'far',
              dead,
              losses,
            });
          }
        }
      }
      for (const trouble of TROUBLES) {
        for (const network of ['near', 'far'] as const) {
          const requests = requestsOf(trouble);
          scenarios.push({ ...cluster, requests, clients: 4, network, trouble });
        }
      }
    }
    // A checkpoint has to be copied while another replica is dead.
    for (const replicaCount of [5, 6]) {
      const trouble = { kind: 'returns', distance: 1, by: 'checkpoint' } as const;
      const load = { clients: 4, requests: REQUESTS_RETURN, network: 'far' } as const;
      scenarios.push({ topology, replicaCount, ...load, dead: [2], trouble });
    }
  }
  return unique([...scenarios, ...recordScenarios()]);
}

/** What every change is measured by. */
export function smallMatrix(): Scenario[] {
  const far = { network: 'far', requests: REQUESTS } as const;
  const scenarios: Scenario[] = healthyScenarios(REQUESTS);
  for (const topology of TOPOLOGY_NAMES) {
    scenarios.push({ topology, replicaCount: 5, clients: 4, ...far, losses: 50 });
    scenarios.push({ topology, replicaCount: 6, clients: 32, ...far, dead: [1] });
  }
  for (const topology of ['star', 'alternating-chord'] as const) {
    scenarios.push({ topology, replicaCount: 3, clients: 1, ...far });
    scenarios.push({ topology, replicaCount: 4, clients: 4, ...far, dead: [2] });
  }
  for (const trouble of TROUBLES) {
    const network = trouble.kind === 'slow-disk' ? 'near' : 'far';
    const cluster = { topology: 'star', replicaCount: 5, clients: 4 } as const;
    scenarios.push({ ...cluster, network, requests: requestsOf(trouble), trouble });
  }
  return scenarios;
}

/** By name. */
function unique(scenarios: readonly Scenario[]): Scenario[] {
  return [...new Map(scenarios.map((one) => [scenarioName(one), one])).values()];
}
