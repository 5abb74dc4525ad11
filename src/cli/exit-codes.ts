/**
 * Exit codes: one per kind of trouble, so that scripts and supervisors can tell them apart. They
 * are part of the public face: a number is never given a second meaning. `roundelay help` prints
 * this table.
 */
export const ExitCode = {
  ok: 0,
  /** A bug in the program. */
  internal: 1,
  /** An unknown command or flag, or a value that makes no sense. */
  usage: 2,
  /** Used by bin/roundelay.js, which repeats the number. */
  nodeTooOld: 3,
  fileMissing: 10,
  fileExists: 11,
  fileNotWritable: 12,
  diskFull: 13,
  fileInUse: 14,
  fileCorrupt: 15,
  /** Written by a newer or an older release. */
  formatVersion: 16,
  /** Another cluster, replica count or geometry than asked for. */
  fileMismatch: 17,
  addressInUse: 20,
  /** Not an address of this machine, or a port that needs privileges. */
  addressUnavailable: 21,
  /** The machine or the container has too little memory. */
  outOfMemory: 22,
  /** Nobody listens where a server was to be. */
  nobodyListens: 30,
  wrongCluster: 31,
  /** Something is there, but no answer came in time. */
  noAnswer: 32,
  /** The cluster has ended the session or refuses this release. */
  evicted: 33,
  /** `recover`: the others have no quorum, or the replica is not lost. */
  recoverRefused: 34,
  /** A benchmark's transfer was not created, or a check failed. */
  loadFailed: 40,
  /** A temporary cluster could not be started, or ended by itself. */
  clusterFailed: 41,
  /** A simulation did not do what it claims, or its figures are worse than they may be. */
  simulationFailed: 42,
  /** An engine did something else in a replay than when it was recorded. */
  replayDiffers: 43,
  /** The disk failed under a running server. */
  storageFailed: 50,
  /** A replica that has proof of being different from the others. */
  diverged: 51,
  /** The engine in a simulation crashed, or broke the rules of its driver. */
  simulationCrashed: 127,
  /** A simulated run came to no end: requests without answers, replicas that disagree. */
  simulationStuck: 128,
  /** A result in a simulation was wrong. */
  simulationWrong: 129,
  /** Ended by SIGINT or SIGTERM before the work was done (servers end with 0). */
  interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** The table for people; the order is that of the numbers. */
export const exitCodeTexts: readonly (readonly [ExitCode, string])[] = [
  [ExitCode.ok, 'done'],
  [ExitCode.internal, 'a bug in this program'],
  [ExitCode.usage, 'unknown command or flag, or a value that makes no sense'],
  [ExitCode.nodeTooOld, 'the running Node is too old'],
  [ExitCode.fileMissing, 'the data file does not exist'],
  [ExitCode.fileExists, 'the data file exists already'],
  [ExitCode.fileNotWritable, 'no permission to write the file or its folder'],
  [ExitCode.diskFull, 'the disk is full'],
  [ExitCode.fileInUse, 'another process has the data file open'],
  [ExitCode.fileCorrupt, 'the file is damaged or no data file'],
  [ExitCode.formatVersion, 'the data file is of another release'],
  [ExitCode.fileMismatch, 'the data file is of another cluster, size or kind'],
  [ExitCode.addressInUse, 'the address is in use'],
  [ExitCode.addressUnavailable, 'the address cannot be listened on'],
  [ExitCode.outOfMemory, 'there is too little memory'],
  [ExitCode.nobodyListens, 'nobody listens at the address'],
  [ExitCode.wrongCluster, 'the server is of another cluster'],
  [ExitCode.noAnswer, 'no answer in time'],
  [ExitCode.evicted, 'the cluster has ended the session'],
  [ExitCode.recoverRefused, 'the cluster cannot take a recovered replica'],
  [ExitCode.loadFailed, 'a result of the load is not what it must be'],
  [ExitCode.clusterFailed, 'a temporary cluster could not run'],
  [ExitCode.simulationFailed, 'a simulation shows less, or is slower, than it should'],
  [ExitCode.replayDiffers, 'a replayed engine did something else than before'],
  [ExitCode.storageFailed, 'the disk failed under the server'],
  [ExitCode.diverged, 'the replica differs from its cluster'],
  [ExitCode.simulationCrashed, 'the simulated engine crashed'],
  [ExitCode.simulationStuck, 'a simulated run came to no end'],
  [ExitCode.simulationWrong, 'a simulated run found a wrong result'],
  [ExitCode.interrupted, 'interrupted before the work was done'],
];
