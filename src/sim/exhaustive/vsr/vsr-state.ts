/**
 * All of a replica that can ever matter within a scope, as text; and what others may know of it.
 * Left out are times, counters and what goes into status and logs only. Where that is wrong,
 * `Members` finds it out when told to doubt.
 */
import { toHex } from '../../../stdx/index.ts';
import { headerOffset, type Parts, prepareOffset } from '../../../vsr/index.ts';
import { type Checksum, readView } from '../../../wire/index.ts';
import { GEOMETRY, type VsrDisk } from './vsr-disk.ts';
import type { VsrShadow } from './vsr-shadow.ts';
import { headerText, shortChecksum } from './vsr-text.ts';

/** Operations above the head that may be on disk: all that any scope comes to. */
const LEFT_MAX = 4;
const NOTHING: Uint8Array = new Uint8Array(4);

export interface VsrState {
  readonly parts: Parts;
  readonly shadow: VsrShadow;
  readonly disk: VsrDisk;
  /** What a crash would leave matters. */
  readonly mayCrash: boolean;
  /** Whatever else the driver knows. */
  readonly flags: string;
}

export interface VsrSummary {
  readonly name: string;
  readonly status: string;
  readonly isPrimary: boolean;
  readonly view: number;
  readonly viewDurable: number;
  readonly logView: number;
  readonly logViewDurable: number;
  readonly head: number;
  readonly commitMin: number;
  readonly commitMax: number;
  /** From operation 1 on; null: not known. */
  readonly log: readonly ({ readonly view: number; readonly text: string } | null)[];
}

/** Deadlines whose being set changes what is done. */
const DEADLINES = [
  'prepare',
  'heartbeat',
  'abdicate',
  'votes-expire',
  'view-resend',
  'view-status',
  'repair',
  'behind',
  'held-requests',
] as const;

export function stateText(state: VsrState): string {
  const { parts, shadow, flags } = state;
  const { member, state: replicated, commits, primary, viewChange, admission, peers } = parts;
  const { status, view, logView } = member;
  const lines = [`${flags} ${status} ${view} ${logView} ${commits.commitMax} ${commits.isReading}`];
  lines.push(`${replicated.commitMin} ${shortChecksum(replicated.digest)}`, logText(parts));
  lines.push(`${primary.pipelineLength} ${primary.isAbdicating} ${viewChange.isRepairing}`);
  lines.push(`${peers.upMask} ${admission.queueLength} ${parts.heldRequests.count}`);
  lines.push(DEADLINES.filter((name) => parts.deadlines.isSet(name)).join());
  lines.push(shadow.text(), superblockText(parts), diskText(state));
  return lines.join('|');
}

/** Short, and another one for any other text. */
export function nextTrail(text: string, checksum: Checksum): string {
  const bytes = new TextEncoder().encode(text);
  const trail = new Uint8Array(16);
  checksum.digest(bytes, 0, bytes.length, trail, 0);
  return toHex(trail);
}

function logText({ log, cache, journal, state }: Parts): string {
  const texts: string[] = [];
  for (let op = 0; op <= log.head + 2; op++) {
    const header = log.header(op);
    const cached = cache.at(op);
    const isWriting = header !== null && journal.isWriting(op, header, 0);
    const is = [log.isClean(op), log.isFaulty(op), isWriting].map(Number).join('');
    const kept = cached === null || op <= state.commitMin ? '' : shortChecksum(cached.bytes);
    texts.push(`${header === null ? '' : headerText(header)} ${is} ${kept}`);
  }
  return `${log.head} ${log.chainLow} ${journal.pending} ${texts.join()}`;
}

function superblockText({ superblock }: Parts): string {
  const { current, newest, isIdle } = superblock;
  const texts = [current, newest].map(({ view, logView, commitMax, viewHeaders }) => {
    const headers = viewHeaders.map((header) => headerText(header));
    return `${view} ${logView} ${commitMax} ${headers.join()}`;
  });
  return `${texts.join(';')} ${isIdle}`;
}

function diskText({ disk, mayCrash, parts }: VsrState): string {
  const writes = disk.writes.map(({ group, bytes }) => `${group} ${shortChecksum(bytes)}`);
  return mayCrash ? `${writes.join()} ${leftText(disk, parts)}` : writes.join();
}

/** What is on disk besides the log: cut off, or written in part. */
function leftText(disk: VsrDisk, { log }: Parts): string {
  const texts: string[] = [];
  for (let op = 1; op <= log.head + LEFT_MAX; op++) {
    const header = shortChecksum(disk.read(headerOffset(GEOMETRY, op), 4));
    const prepare = shortChecksum(disk.read(prepareOffset(GEOMETRY, op), 4));
    const own = log.isClean(op) ? shortChecksum(log.header(op) ?? NOTHING) : '';
    if (header !== own || prepare !== own) texts.push(`${op}: ${header} ${prepare}`);
  }
  return texts.join();
}

export function summaryOf(replica: number, parts: Parts): VsrSummary {
  const { member, log, state, commits, superblock } = parts;
  return {
    name: `r${replica}`,
    status: member.status,
    isPrimary: member.isPrimary,
    view: member.view,
    viewDurable: superblock.current.view,
    logView: member.logView,
    logViewDurable: superblock.current.logView,
    head: log.head,
    commitMin: state.commitMin,
    commitMax: commits.commitMax,
    log: Array.from({ length: log.head }, (_, i) => {
      const header = log.header(i + 1);
      return header === null ? null : { view: readView(header), text: headerText(header) };
    }),
  };
}
