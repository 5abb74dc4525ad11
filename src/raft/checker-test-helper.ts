/**
 * What must hold in a simulated cluster, whatever happens: Raft's five properties, durability of
 * what is said, and what clients were promised. It sees all servers at once and believes none.
 */
import assert from 'node:assert/strict';
import type { Entry, ServerId, Snapshot } from './entry.ts';
import { type Recovery, recover } from './log/recovery.ts';
import type { Msg } from './message.ts';
import type { Node, Payload } from './node-test-helper.ts';

const textOf = (entry: Entry<Payload>): string =>
  `${entry.term} ${entry.kind}${entry.kind === 'data' ? ` ${entry.eid}` : ''}`;

const problemOf = (result: Recovery<Payload>): string => (result.ok ? '' : result.problem);

export class Checker {
  readonly #leaders: Map<number, ServerId> = new Map();
  /** Index → entry, as first committed anywhere. */
  readonly #committed: Map<number, Entry<Payload>> = new Map();
  /** Index → term of the server that was the first to know it committed. */
  readonly #committedIn: Map<number, number> = new Map();
  readonly #indexes: Map<string, number> = new Map();
  readonly #denied: Set<string> = new Set();
  readonly #votes: Map<string, ServerId> = new Map();
  /** Largest index that anybody outside has been told of. */
  acknowledged: number = 1;
  successes: number = 0;
  reads: number = 0;

  get commitMax(): number {
    return this.#committed.size + 1;
  }

  onDeliver(node: Node, entry: Entry<Payload>): void {
    const known = this.#committed.get(entry.index);
    if (known !== undefined) {
      assert.equal(textOf(entry), textOf(known), `${node.id}: another entry at ${entry.index}`);
      return;
    }
    assert.equal(entry.index, this.commitMax + 1, 'committed with a gap');
    this.#committed.set(entry.index, entry);
    this.#committedIn.set(entry.index, node.inside.member.term);
    if (entry.kind !== 'data') return;
    assert(!this.#indexes.has(entry.eid), `${entry.eid} is done twice`);
    assert(!this.#denied.has(entry.eid), `${entry.eid} is done after it was denied`);
    this.#indexes.set(entry.eid, entry.index);
  }

  onSnapshot(node: Node, snapshot: Snapshot<Payload>): void {
    const names: string[] = [];
    for (let i = 2; i <= snapshot.index; i++) {
      const entry = this.#committed.get(i);
      assert(entry !== undefined, `${node.id}: a snapshot of what nobody committed`);
      if (entry.kind === 'data') names.push(entry.eid);
    }
    assert.deepEqual(snapshot.data, names, `${node.id}: snapshot and log differ`);
    const last = this.#committed.get(snapshot.index);
    if (last !== undefined) assert.equal(snapshot.term, last.term, `${node.id}: snapshot's term`);
  }

  /** After every step of a server. */
  onStep(node: Node): void {
    const { member, log } = node.inside;
    if (!member.isLeader) return;
    const leader = this.#leaders.get(member.term);
    if (leader === node.id) return;
    assert.equal(leader, undefined, `two leaders in term ${member.term}`);
    this.#leaders.set(member.term, node.id);
    for (const [index, entry] of this.#committed) {
      // A server that stood still may find itself elected in a term that is long over.
      const isLater = (this.#committedIn.get(index) as number) >= member.term;
      if (index < log.start || isLater) continue;
      assert(index < log.end, `${node.id} leads without the committed entry ${index}`);
      assert.equal(textOf(log.at(index)), textOf(entry), `${node.id} leads with another ${index}`);
    }
  }

  /** A message leaves: what it promises must survive the power failure of this very moment. */
  onSend(node: Node, to: ServerId | null, message: Msg<Payload>): void {
    const { type } = message;
    if (type !== 'append-reply' && type !== 'vote-reply' && type !== 'vote-request') return;
    const { header, records } = node.disk.durable();
    const result = recover<Payload>({ self: node.id, header, records, electionTimerMs: 100 });
    assert(result.ok, `${node.id}: a crash would leave a file with ${problemOf(result)}`);
    const { snapshot, entries, term, vote } = result.state;
    assert(term >= message.term, `${node.id}: says ${type} in a term that a crash would undo`);
    const end = snapshot.index + entries.length + 1;
    if (type === 'append-reply' && message.result === 'ok') {
      const last = message.prevIndex + message.entryCount;
      assert(last < end, `${node.id}: acknowledges ${last}, durable is only ${end - 1}`);
      const mine = node.inside.log;
      if (last >= snapshot.index + 1 && last >= mine.start && last < mine.end) {
        const durable = entries[last - snapshot.index - 1];
        assert.equal(durable.term, mine.termAt(last), `${node.id}: durable is another ${last}`);
      }
    } else if (type === 'vote-reply' && !message.isPreVote && message.vote === to) {
      assert(term > message.term || vote === to, `${node.id}: this vote would be forgotten`);
      const key = `${node.id} ${message.term}`;
      const before = this.#votes.get(key);
      assert(before === undefined || before === to, `${node.id}: two votes in ${message.term}`);
      this.#votes.set(key, to);
    }
  }

  onSuccess(eid: string, index: number): void {
    const at = this.#indexes.get(eid);
    assert(at !== undefined && at <= index, `${eid} is not among what is done at ${index}`);
    this.acknowledged = Math.max(this.acknowledged, index);
    this.successes++;
  }

  /** Told that certainly nothing came of it. */
  onDenied(eid: string): void {
    assert(!this.#indexes.has(eid), `${eid} was done and is denied`);
    this.#denied.add(eid);
  }

  /** `floor`: what was acknowledged when the read began. */
  onRead(node: Node, floor: number, index: number): void {
    assert(index >= floor, `${node.id}: reads as of ${index}, acknowledged was ${floor}`);
    this.acknowledged = Math.max(this.acknowledged, index);
    this.reads++;
  }

  /** Now and then: where two logs have an entry of the same term, all before is the same. */
  logMatching(nodes: readonly Node[]): void {
    const logs = nodes.filter((node) => node.isUp).map((node) => node.inside.log);
    for (const [i, a] of logs.entries()) {
      for (const b of logs.slice(i + 1)) {
        let isSame = false;
        for (let at = Math.min(a.last, b.last); at >= Math.max(a.start, b.start); at--) {
          isSame ||= a.termAt(at) === b.termAt(at);
          if (isSame) assert.equal(textOf(a.at(at)), textOf(b.at(at)), `logs differ at ${at}`);
        }
      }
    }
  }
}
