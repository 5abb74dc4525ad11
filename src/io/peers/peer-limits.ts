/** Limits of the links between replicas, in one place, with their units. */
import { PIPELINE_MAX } from '../../engine/index.ts';

export interface PeerLimits {
  /**
   * Wait before the first redial, ms; doubles up to the maximum, less up to a quarter by chance.
   */
  readonly redialMsMin: number;
  readonly redialMsMax: number;
  /** A peer that dials us is dialled at once, if the last attempt began this long ago, ms. */
  readonly hurryAfterMs: number;
  /** From dialling until the other side has said who it is, ms. */
  readonly greetTimeoutMs: number;
  /** A dialled connection that says nothing is asked after this, and given up after that, ms. */
  readonly probeAfterMs: number;
  readonly silenceMs: number;
  /** A peer that takes nothing of what is sent to it for this long is cut off, ms. */
  readonly drainTimeoutMs: number;
  /** Prepares handed to a link and not yet taken by the kernel; more are dropped. */
  readonly preparesMax: number;
  /** The same for other messages that need a large slot. */
  readonly largeMax: number;
  /** The same for all others. */
  readonly smallMax: number;
  /** How long a peer may be out of reach before the log says so, ms: others start later. */
  readonly troubleAfterMs: number;
  /** Connections at a time that claim to be one replica and have not proven it. */
  readonly claimsMax: number;
  /** Bytes of hellos and answers that may wait in one socket. */
  readonly helloBytesMax: number;
}

export const peerLimits: PeerLimits = {
  redialMsMin: 10,
  redialMsMax: 1_000,
  hurryAfterMs: 50,
  greetTimeoutMs: 2_000,
  probeAfterMs: 1_500,
  silenceMs: 5_000,
  drainTimeoutMs: 1_000,
  preparesMax: 3 * PIPELINE_MAX,
  largeMax: PIPELINE_MAX,
  smallMax: 256,
  troubleAfterMs: 2_000,
  claimsMax: 16,
  helloBytesMax: 16_384,
};

/** How often links are looked at, ms. */
export const PEER_SWEEP_INTERVAL_MS = 250;
/** A sweep that comes this late says that this process was standing still, ms. */
export const PEER_SWEEP_LATE_MS = 1_000;
