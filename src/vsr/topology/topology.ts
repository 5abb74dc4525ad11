/**
 * Along which links a prepare travels from the primary to the backups: a strategy chosen at start.
 * Acknowledgements always go straight to the primary. Replicas need not agree on a topology for
 * safety, only for speed: whoever misses a prepare fetches it by repair.
 *
 * General rules: nothing is sent back to the primary of the prepare's view; a replica forwards a
 * prepare once, when it did not hold it before; forwarding runs in parallel with its own log write.
 */

export const TOPOLOGY_NAMES = [
  /** 0→1→2→…; one copy leaves every replica; a dead replica cuts off all behind it. */
  'ring',
  /** Odd operations the other way round. */
  'alternating-ring',
  /** The primary sends to all. */
  'star',
  /** A V with the primary in the middle; tries other orders and keeps the fastest. */
  'adaptive-route',
  /** Two copies from the primary, two chains; parity alternates the first hops. */
  'alternating-chord',
  /** Headers by star, bodies by alternating ring. */
  'star-ring',
  /** Headers by star, bodies by alternating chord. */
  'star-chord',
] as const;

export type TopologyName = (typeof TOPOLOGY_NAMES)[number];

/** Size of what pings carry for the topology, bytes. */
export const ROUTE_SIZE = 8;

export interface Topology {
  readonly name: TopologyName;
  /**
   * To whom `self` sends the prepare of `op` of `view`: as primary, or when it has received it for
   * the first time. A shared array, never changed.
   */
  next(view: number, op: number, self: number): readonly number[];
  /** Who is on the way from the primary to `self`, in order, without both. Empty: direct. */
  path(view: number, op: number, self: number): readonly number[];
  /** Whom the primary tells the header alone, at once: those that get the body from others. */
  announce(view: number, op: number, self: number): readonly number[];
  /** Primary: `replica` acknowledged `op` of the current view `delayNs` after it was first sent. */
  onAck(op: number, replica: number, delayNs: number): void;
  /** A view has begun here. */
  onView(view: number): void;
  /** Pings are about to be sent: the moment to take a better route, because pings spread it. */
  onPing(): void;
  /** What pings carry: {@link ROUTE_SIZE} bytes, all zero for none. */
  readonly route: Uint8Array;
  /** Backup: a ping of the primary of `view` carried `route`. Nonsense is ignored. */
  adopt(view: number, route: Uint8Array): void;
}
