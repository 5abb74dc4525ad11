/** Bugs for the search to find, besides those of `sim/planted`. */
import type { Parts } from '../../../vsr/index.ts';
import { resumesItsView as resumesAlways } from '../../planted/plants-test-helper.ts';
import { opOf } from './vsr-text.ts';

/** A backup acknowledges what it has begun to write. */
export function acknowledgesBeforeWritten({ log, journal, backup }: Parts): void {
  const isClean = log.isClean.bind(log);
  const write = journal.write.bind(journal);
  let isEager = false;
  log.isClean = (op) => isEager || isClean(op);
  journal.write = (message) => {
    write(message);
    isEager = true;
    backup.sendOk(opOf(message.bytes));
    isEager = false;
  };
}

/** A primary that restarts goes on in its view, if all of its log is there. */
export function resumesItsView(parts: Parts): void {
  const { viewChange, log } = parts;
  const enter = viewChange.enter.bind(viewChange);
  resumesAlways(parts);
  const resume = viewChange.enter;
  viewChange.enter = (view) => {
    const ops = Array.from({ length: log.head }, (_, i) => i + 1);
    if (ops.every((op) => log.isClean(op))) resume(view);
    else enter(view);
  };
}

/** The longest log wins, whichever view it is of. */
export function choosesTheLongestLog({ viewChange }: Parts): void {
  const select = viewChange.select.bind(viewChange);
  viewChange.select = (votes) => select(votes.map((vote) => ({ ...vote, logView: vote.op })));
}

/** One copy is enough for a commit. */
export function commitsAlone({ member }: Parts): void {
  const quorums = { ...member.quorums, replication: 1 };
  Object.defineProperty(member, 'quorums', { value: quorums, configurable: true });
}

/** A new primary counts only what it has itself. */
export function asksNobody({ member }: Parts): void {
  const quorums = { ...member.quorums, viewChange: 1 };
  Object.defineProperty(member, 'quorums', { value: quorums, configurable: true });
}

/** Messages that were lost are never asked for. */
export function repairsNothing({ repair }: Parts): void {
  repair.advance = () => {};
}
