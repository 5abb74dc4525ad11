/**
 * topology: along which links prepares travel. Reading order: `topology` (the contract), `plans`
 * (the shapes), `tree` (a shape with its answers), `fixed-topology`, then the one that adapts:
 * `route-table`, `route-cost`, `adaptive-route`.
 */
export { createTopology } from './create-topology.ts';
export { ROUTE_SIZE, TOPOLOGY_NAMES, type Topology, type TopologyName } from './topology.ts';
