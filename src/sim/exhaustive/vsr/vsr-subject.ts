/**
 * A small VSR cluster, and what must hold in it: no two prepares of one operation in a view, no two
 * lives of a primary that act in it, operations committed are the same everywhere and in the log of
 * every later primary, requests are executed once, what is answered is committed; nobody says what
 * a crash would take back. A replica that halts because it differs from others counts as broken
 * too. And whatever has happened, once it is calm all go on together.
 */
import { assert } from '../../../stdx/index.ts';
import type { Parts } from '../../../vsr/index.ts';
import { Command, readCommand, readView } from '../../../wire/index.ts';
import type { Move, Subject } from '../subject.ts';
import { comeToRest } from './vsr-calm.ts';
import { requestBytes } from './vsr-client.ts';
import { type VsrFact, VsrLive } from './vsr-live.ts';
import { checksum } from './vsr-process.ts';
import { budgetsOf, VSR_SCOPE, VsrBudget, type VsrScope } from './vsr-scope.ts';
import type { VsrSummary } from './vsr-state.ts';
import { describeLetter, letterText, type VsrLetter } from './vsr-text.ts';
import { testifyVsr, VSR_WITNESS, type VsrWitness, witnessText } from './vsr-witness.ts';

export type VsrSubject = Subject<VsrLetter, VsrFact, VsrSummary, VsrWitness, VsrLive>;

export interface VsrSubjectOptions extends Partial<VsrScope> {
  /** A planted bug, in every replica. */
  readonly onParts?: (parts: Parts) => void;
}

export function vsrSubject(options: VsrSubjectOptions = {}): VsrSubject {
  const { onParts = null, ...chosen } = options;
  const scope: VsrScope = { ...VSR_SCOPE, ...chosen };
  const names = Array.from({ length: scope.replicas }, (_, i) => `r${i}`);
  const prologue = new Prologue(scope, onParts);
  return {
    members: names,
    budgets: budgetsOf(scope),
    duplicates: -1,
    slowLinks: scope.slowLinks === null ? -1 : VsrBudget.slowLinks,
    isSymmetric: false,
    isOrdered: true,
    isEnd: (letter) => letter === 'link-lost',
    create: (member) => prologue.create(member),
    isDead: (replica, _, letter) => isDead(replica, letter),
    messageText: letterText,
    describe: describeLetter,
    describeMember,
    factText: (fact) => JSON.stringify(fact),
    witness: prologue.witness,
    witnessText,
    testify: (witness, member, facts) =>
      testifyVsr(names[member], witness, facts, scope.isTrusting),
    agreeKey: ({ log }) => log.map((entry) => entry?.text ?? '').join(),
    agree: logsAgree,
    rest: comeToRest,
  };
}

/** How a cluster comes to where the search begins: the moves of each member until then. */
class Prologue {
  readonly #scope: VsrScope;
  readonly #onParts: ((parts: Parts) => void) | null;
  readonly #requests: Uint8Array[] = [];
  readonly #moves: Move<VsrLetter>[][];
  readonly #letters: { readonly from: number; readonly to: number; readonly message: VsrLetter }[] =
    [];
  readonly #replies: Uint8Array[] = [];
  witness: VsrWitness = VSR_WITNESS;

  constructor(scope: VsrScope, onParts: ((parts: Parts) => void) | null) {
    // Until it begins all disks and links are fast.
    this.#scope = scope;
    this.#onParts = onParts;
    this.#moves = Array.from({ length: scope.replicas }, () => []);
    const lives = this.#moves.map((_, member) => this.#live(member));
    for (const member of lives.keys()) this.#move(lives, member, opens);
    this.#run(lives);
    const primary = lives.findIndex((live) => live.summary().isPrimary);
    for (let client = 0; client < scope.requests; client++) {
      this.#move(lives, primary, { type: 'do', kind: 'registers client', at: client });
      this.#run(lives);
      const reply = this.#replies.shift();
      assert(reply !== undefined, 'Prologue: no session');
      this.#requests.push(requestBytes(client, reply, checksum));
    }
    for (const live of lives) {
      const { status, commitMin } = live.summary();
      assert(status === 'normal' && commitMin === scope.requests, 'Prologue: no beginning');
      live.close();
    }
  }

  create(member: number): VsrLive {
    const live = this.#live(member);
    for (const move of this.#moves[member]) live.move(move);
    live.isJudged = true;
    return live;
  }

  #live(member: number): VsrLive {
    const options = { member, requests: this.#requests, onParts: this.#onParts };
    return new VsrLive({ ...options, scope: this.#scope });
  }

  #run(lives: readonly VsrLive[]): void {
    for (let letter = this.#letters.shift(); letter !== undefined; letter = this.#letters.shift()) {
      const { from, to, message } = letter;
      this.#move(lives, to, { type: 'take', from, message });
    }
  }

  #move(lives: readonly VsrLive[], member: number, move: Move<VsrLetter>): void {
    this.#moves[member].push(move);
    const { sent, facts } = lives[member].move(move);
    this.#replies.push(...lives[member].replies);
    for (const { to, message } of sent) this.#letters.push({ from: member, to, message });
    const after = testifyVsr(`r${member}`, this.witness, facts, this.#scope.isTrusting);
    if (typeof after === 'string') throw new Error(`before it begins: ${after}`);
    this.witness = after;
  }
}

const opens: Move<VsrLetter> = { type: 'do', kind: 'opens', at: -1 };

/** Durable views do not go back, and these are about one view. */
function isDead(replica: VsrSummary, letter: VsrLetter): boolean {
  // A link that was lost may be noticed late, or when it is there again: then it is nothing.
  if (letter === 'link-lost') return true;
  if (readView(letter) >= replica.viewDurable) return false;
  const command = readCommand(letter);
  return (
    command === Command.prepareOk ||
    command === Command.commit ||
    command === Command.startViewChange ||
    command === Command.doViewChange ||
    command === Command.startView
  );
}

function describeMember(replica: VsrSummary): string {
  const { status, isPrimary, view, logView, head, commitMin, commitMax, log } = replica;
  const role = status === 'normal' ? (isPrimary ? 'primary' : 'backup') : status;
  const entries = log.slice(-3).map((entry) => entry?.text ?? 'unknown');
  const views = `view ${view} (log ${logView})`;
  const commit = `commit ${commitMin} of ${commitMax}`;
  return `${role} in ${views}, op ${head}, ${commit} [${entries.join(', ')}]`;
}

/** One view has one prepare for an operation. */
function logsAgree(a: VsrSummary, b: VsrSummary): string | null {
  for (let i = 0; i < Math.min(a.log.length, b.log.length); i++) {
    const [one, other] = [a.log[i], b.log[i]];
    if (one === null || other === null || one.view !== other.view) continue;
    if (one.text !== other.text) return `${a.name} has ${one.text}, ${b.name} has ${other.text}`;
  }
  return null;
}
