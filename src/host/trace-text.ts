/**
 * Sentences for the traces of an engine. Traces are names and values, for machines; a person who
 * reads a log wants to know what happened and to whom. A trace without a sentence here is shown by
 * its name.
 */
import type { TraceValue } from '../engine/index.ts';
import { raftSentences } from './trace-text-raft.ts';

export type TraceFields = { readonly [name: string]: TraceValue };

const sentences: { readonly [event: string]: (fields: TraceFields) => string } = {
  'client-evicted': evictedText,
  'session-evicted': (fields) =>
    `the least recently used of ${fields['sessionsMax']} sessions made room for a new client`,
  'disk-full': () =>
    'the disk is full: reads go on, new operations are refused until there is room',
  'log-repaired': () => 'the log was damaged where it does not matter, and has been repaired',
  'view-change': (fields) => `looking for a primary: view ${fields['view']}`,
  'view-started': (fields) => `this replica is the primary of view ${fields['view']}`,
  'view-followed': (fields) =>
    `replica ${fields['primary']} is the primary of view ${fields['view']}`,
  'view-exit': (fields) =>
    `nobody hears from replica ${fields['primary']}, the primary of view ${fields['view']}`,
  'view-undecidable': (fields) =>
    `no primary can begin view ${fields['view']}: operation ${fields['op']} is damaged or missing ` +
    'on so many replicas that nobody knows whether it was acknowledged',
  'primary-restarted': (fields) =>
    `this replica was the primary of view ${fields['view']}, the cluster chooses anew`,
  abdicated: (fields) =>
    `this replica gives up view ${fields['view']}: ` +
    (fields['reason'] === 'disk-full'
      ? 'its disk is full, and others have room'
      : 'too few others answer it, or its clock is off'),
  'recovering-head': () =>
    'this replica does not know how its log ended, and votes for nothing until a primary tells it',
  'replica-replaced': (fields) =>
    `replica ${fields['replica']} has another data file than before` +
    (fields['engine'] === 'raft'
      ? ', so it may have forgotten what it promised: it is not heard, and must be ended until ' +
        'its own file is back'
      : ', which was not made by `roundelay recover`: it is not counted'),
  'peer-diverged': (fields) =>
    `replica ${fields['replica']} differs from this one, and has to stop`,
  sync: (fields) =>
    `too far behind for the log: copying a checkpoint from replica ${fields['from']}`,
  synced: (fields) => `checkpoint at operation ${fields['op']} copied`,
  'clock-outvoted': (fields) =>
    `${clockOf(fields)} is ${durationText(Number(fields['offsetMs']))} the agreed time: ` +
    'it is not counted until it is set right',
  'clock-agrees': (fields) => `${clockOf(fields)} agrees with the others again`,
  'clock-unsynchronized': (fields) =>
    fields['reason'] === 'silence'
      ? 'too few clocks of other replicas have been heard: there is no agreed time'
      : `the clocks of the replicas do not agree: ${fields['clocks']}`,
  'clock-synchronized': () => 'the clocks of the replicas agree again',
  checkpoint: (fields) => `checkpoint at operation ${fields['op']} written`,
};

export function traceText(event: string, fields: TraceFields): string {
  const sentence = sentences[event] ?? raftSentences[event];
  return sentence?.(fields) ?? event.replaceAll('-', ' ');
}

function clockOf(fields: TraceFields): string {
  const { replica, isOwn } = fields;
  return isOwn === true
    ? `the clock of this replica (${replica})`
    : `the clock of replica ${replica}`;
}

/** `2.5 h ahead of`, `1.2 s behind`: with one digit, in the largest unit that is there once. */
function durationText(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ];
  const [size, name] = units.find(([unit]) => Math.abs(ms) >= unit) ?? [1000, 's'];
  return `${(Math.abs(ms) / size).toFixed(1)} ${name} ${ms < 0 ? 'behind' : 'ahead of'}`;
}

function evictedText(fields: TraceFields): string {
  const { reason, clientRelease, serverRelease, clientReleaseMin, sessionsMax } = fields;
  switch (reason) {
    case 'client-release-too-low':
    case 'client-release-too-high':
      return (
        `client of release ${clientRelease} refused, ` +
        `this server (${serverRelease}) serves ${clientReleaseMin} to ${serverRelease}`
      );
    case 'no-session':
      return `client evicted: it has no session (any more), ${sessionsMax} are kept`;
    default:
      return `client evicted: ${String(reason).replaceAll('-', ' ')}`;
  }
}
