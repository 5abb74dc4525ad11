/**
 * How often a replica refused something and why: the first place to look when a client gets no
 * answer. Reasons are stable names.
 */

const dropped = {
  /** Not serving (yet): recovering. */
  'not-normal': 0,
  /** A backup, and nothing that it would keep for the primary. */
  'not-primary': 0,
  /** The client has seen a newer view than this replica. */
  'newer-view': 0,
  /** Breaks a field rule of its command. */
  'invalid-header': 0,
  /** The disk is full: no checkpoint, no new operations. */
  'read-only': 0,
  'queue-full': 0,
  /** The client has a request under way already. */
  'in-flight': 0,
  /** The message pool had no slot for an answer. */
  'no-slot': 0,
  'session-newer': 0,
  'request-older': 0,
  /** Same request number as the last one, other contents. */
  'request-forked': 0,
  'request-gap': 0,
  /** Does not follow the reply that this replica gave last. */
  'request-parent': 0,
  /** A reply for a client that is not connected. */
  'no-connection': 0,
};
const refused = {
  'no-session': 0,
  'client-release-too-low': 0,
  'client-release-too-high': 0,
  'invalid-request-operation': 0,
  'invalid-request-body': 0,
  'invalid-request-body-size': 0,
  'session-too-low': 0,
  'session-release-mismatch': 0,
  /** A command that clients never send; the connection is closed. */
  'unexpected-command': 0,
  /** Another client id on the same connection; closed. */
  'client-changed': 0,
  /** The client has come back on a newer connection; the older one is closed. */
  'client-replaced': 0,
};

/** Why a message was dropped without an answer. */
export type DropReason = keyof typeof dropped;
/** Why a client was told to go away, or its connection closed. */
export type RefuseReason = keyof typeof refused;

export class Counters {
  readonly dropped: { [reason in DropReason]: number } = { ...dropped };
  readonly refused: { [reason in RefuseReason]: number } = { ...refused };

  drop(reason: DropReason): void {
    this.dropped[reason]++;
  }

  refuse(reason: RefuseReason): void {
    this.refused[reason]++;
  }
}
