/**
 * Mistakes that authors of this protocol have made before, planted into a replica by overriding
 * methods of its parts; each has been a real bug of a real system. What the checkers of the
 * simulator are worth shows here: a story or a seed must bring each of them to light.
 */

import { PIPELINE_MAX } from '../../engine/index.ts';
import { bytesEqual, readSafeU64 } from '../../stdx/index.ts';
import type { Parts } from '../../vsr/index.ts';
import { OPERATION_RESERVED } from '../../vsr/message.ts';
import { Part } from '../../vsr/outbox.ts';
import { isPrepareHeader } from '../../vsr/peer-message.ts';
import { type Selection, selectLog, type Vote } from '../../vsr/view-change/log-selection.ts';
import { HEADER_SIZE, PrepareOffset } from '../../wire/index.ts';

/** Changes the parts of one life of a replica before anything runs. */
export type Plant = (parts: Parts) => void;

/** The log view moves when the new primary's repair is done, not when it has chosen its log. */
export function movesLogViewLate(parts: Parts): void {
  const { member, viewChange, superblock, startView, primary } = parts;
  const logViewOf = getter(member, 'logView');
  const enter = viewChange.enter.bind(viewChange);
  const update = superblock.update.bind(superblock);
  const open = primary.open.bind(primary);
  const announce = startView.announce.bind(startView);
  let isEntering = false;
  // What it says of its log in a view change is what its log is like at that moment.
  override(member, 'logView', () => (isEntering ? member.view : logViewOf()));
  viewChange.enter = (view) => {
    isEntering = true;
    enter(view);
    isEntering = false;
  };
  member.enterLogView = () => {};
  superblock.update = (change) => {
    const isLog = change.logView !== undefined && change.checkpoint === undefined;
    const isChoice = isLog && member.status === 'view-change';
    if (!isChoice) update(change);
  };
  startView.announce = () => {};
  primary.open = () => {
    update({ logView: member.view, viewHeaders: viewChange.collect().headers.filter(isThere) });
    open();
    announce();
  };
}

/** A log is cut where the new primary has a gap, whatever others have there. */
export function cutsAtGaps(parts: Parts): void {
  overrideSelection(parts, (votes, select) => {
    const selection = select(votes);
    if (selection.kind !== 'selected') return selection;
    const { op, commitMax, headers } = selection;
    const own = votes.find(({ replica }) => replica === parts.member.replica);
    for (let at = commitMax + 1; at <= op; at++) {
      if (own === undefined || headerOf(own, at) !== null) continue;
      return { ...selection, op: at - 1, headers: headers.slice(op - at + 1) };
    }
    return selection;
  });
}

/** What the view's primary told of its log, and did not fit, is missing in the next vote. */
export function forgetsToldHeaders(parts: Parts): void {
  const { viewChange, log, commits } = parts;
  viewChange.collect = () => {
    const headers: (Uint8Array | null)[] = [];
    for (let op = log.head; op >= 0 && headers.length <= PIPELINE_MAX; op--) {
      headers.push(log.header(op)?.slice() ?? null);
      if (op <= commits.commitMax) break;
    }
    return { op: log.head, headers };
  };
}

/** Who does not deny having had a prepare is taken to have it. */
export function infersPresence(parts: Parts): void {
  const { viewChange } = parts;
  const standing = viewChange.standing.bind(viewChange);
  viewChange.standing = (op, header) => {
    const { isNack } = standing(op, header);
    return { isPresent: header !== null && !isNack, isNack };
  };
}

/** What is left over from an older view is not taken for a denial of the newer one's operation. */
export function countsNoStaleHeaders(parts: Parts): void {
  overrideSelection(parts, (votes, select) => {
    const logView = Math.max(...votes.map((vote) => vote.logView));
    const canonical = votes.filter((vote) => vote.logView === logView);
    const known = canonical.flatMap((vote) => vote.headers.filter(isThere));
    const isInLog = (header: Uint8Array): boolean =>
      known.some(
        (other) =>
          bytesEqual(other, 0, header, 0, 16) ||
          bytesEqual(other, PrepareOffset.parent, header, 0, 16),
      );
    return select(
      votes.map((vote) => ({
        ...vote,
        headers: vote.headers.map((header) => (header === null || isInLog(header) ? header : null)),
      })),
    );
  });
}

/** As many denials are enough as a commit needs acknowledgements. */
export function mistakesNackQuorum(parts: Parts): void {
  const { member, viewChange } = parts;
  const quorums = { ...member.quorums, nack: member.quorums.replication };
  viewChange.select = (votes) => selectLog(votes, quorums, member.replicaCount);
}

/** Acknowledgements of a view count again when its primary leads another one. */
export function keepsAcknowledgements(parts: Parts): void {
  const { primary } = parts;
  const kept: { readonly from: number; readonly bytes: Uint8Array }[] = [];
  const onPrepareOk = primary.onPrepareOk.bind(primary);
  const open = primary.open.bind(primary);
  primary.onPrepareOk = (from, bytes) => {
    kept.push({ from, bytes: bytes.slice() });
    onPrepareOk(from, bytes);
  };
  primary.open = () => {
    open();
    for (const { from, bytes } of kept) onPrepareOk(from, bytes);
  };
}

/** It speaks for the log of a view before the view of its log is durable. */
export function speaksBeforeLogViewIsDurable({ member }: Parts): void {
  override(member, 'isLogViewDurable', () => true);
}

/** It speaks in a view before the view is durable. */
export function speaksBeforeViewIsDurable({ member }: Parts): void {
  override(member, 'isViewDurable', () => true);
}

/** A damaged place counts as empty once the header of what was there has come back. */
export function forgetsDamage(parts: Parts): void {
  const { log } = parts;
  const set = log.set.bind(log);
  const isFaulty = log.isFaulty.bind(log);
  const forgotten = new Set<number>();
  log.set = (header) => {
    set(header);
    forgotten.add(opOf(header));
  };
  log.isFaulty = (op) => !forgotten.has(op) && isFaulty(op);
}

/** What a view change has cut off is back after a restart: it was never erased. */
export function revivesWhatWasCut(parts: Parts): void {
  const { log, journal, geometry, checkpoints } = parts;
  const open = log.open.bind(log);
  log.open = (found) => {
    let head = found;
    while (head < checkpoints.prepareMax) {
      const slot = (head + 1) % geometry.slots;
      const header = journal.sector(slot).subarray(0, HEADER_SIZE);
      const isEmpty = header[PrepareOffset.operation] === OPERATION_RESERVED;
      if (isEmpty || !isPrepareHeader(header, parts.pool.checksum) || opOf(header) !== head + 1)
        break;
      log.restore(slot, header, false);
      head++;
    }
    open(head);
  };
}

/** A slot of the log may be written again while it is being written. */
export function writesSlotsTwiceAtOnce({ journal }: Parts): void {
  journal.isSlotBusy = () => false;
}

/** Operations are acknowledged however far they lie beyond the next checkpoint. */
export function acknowledgesBeyondCheckpoints({ backup }: Parts): void {
  override(backup, 'acknowledgeMax', () => Number.POSITIVE_INFINITY);
}

/** A new primary begins while committed operations are still being executed. */
export function beginsWithCommitsInFlight({ viewChange }: Parts): void {
  override(viewChange, 'isCaughtUp', () => true);
}

/** A primary that restarts goes on in its view, with what its disk has of the log. */
export function resumesItsView(parts: Parts): void {
  const { viewChange, member, state, log, journal, cache, pool, primary } = parts;
  const enter = viewChange.enter.bind(viewChange);
  viewChange.enter = (view) => {
    if (member.status !== 'recovering' || log.head > state.commitMin + PIPELINE_MAX) {
      enter(view);
      return;
    }
    let left = log.head - state.commitMin;
    const begin = (): void => {
      if (left > 0) return;
      member.enterNormal(member.view);
      primary.open();
    };
    begin();
    for (let op = state.commitMin + 1; op <= log.head; op++) {
      journal.read(op, (message) => {
        if (message === null) return;
        cache.put(message, state.commitMin);
        pool.release(message);
        left--;
        begin();
      });
    }
  };
}

/** A copied checkpoint is named although its manifest and its blocks are in the disk's cache. */
export function namesCopyBeforeFlush({ outbox, sync }: Parts): void {
  const flush = outbox.flush.bind(outbox);
  outbox.flush = (part) => {
    if (part !== Part.sync) return flush(part);
    sync.onFlushed();
    return 0;
  };
}

type Select = (votes: readonly Vote[]) => Selection;

function overrideSelection(
  { viewChange }: Parts,
  change: (votes: readonly Vote[], select: Select) => Selection,
): void {
  const select = viewChange.select.bind(viewChange);
  viewChange.select = (votes) => change(votes, select);
}

function override<T extends object, K extends keyof T>(part: T, name: K, get: () => T[K]): void {
  Object.defineProperty(part, name, { get, configurable: true });
}

/** The getter of a part as it is now. */
function getter<T extends object, K extends keyof T>(part: T, name: K): () => T[K] {
  const found = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(part), name);
  if (found?.get === undefined) throw new Error(`no getter ${String(name)}`);
  return found.get.bind(part) as () => T[K];
}

function headerOf(vote: Vote, op: number): Uint8Array | null {
  return vote.headers[vote.op - op] ?? null;
}

function isThere(header: Uint8Array | null): header is Uint8Array {
  return header !== null;
}

function opOf(header: Uint8Array): number {
  return readSafeU64(header, PrepareOffset.op) ?? -1;
}
