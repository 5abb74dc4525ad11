/** A schedule in words, one line for every move: who, what, what that made of it, what it sent. */
import type { Members } from './members.ts';

export interface Made {
  readonly member: number;
  /** Below 0: the link from this member to number −1 − `move` becomes slow. */
  readonly move: number;
}

export function tellSchedule<M, F, S, G>(
  members: Members<M, F, S, G>,
  begin: readonly number[],
  moves: readonly Made[],
): string[] {
  const { subject } = members;
  const states = [...begin];
  return moves.map(({ member, move }, i) => {
    const name = subject.members[member];
    const head = `${i + 1}. ${name}: `;
    if (move < 0) return `${head}its link to ${subject.members[-1 - move]} becomes slow`;
    const before = states[member];
    const step = members.step(before, move);
    states[member] = step.state;
    const now = subject.describeMember(members.summary(step.state));
    const was = subject.describeMember(members.summary(before));
    const sent = step.sent.map((letter) => {
      const { to, message } = members.letter(letter);
      return `${subject.describe(message)} to ${subject.members[to]}`;
    });
    const changed = now === was ? '' : `; is now ${now}`;
    const said = sent.length === 0 ? '' : `; sends ${sent.join(', ')}`;
    return `${head}${members.describeMove(move)}${changed}${said}`;
  });
}
