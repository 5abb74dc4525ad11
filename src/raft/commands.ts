/**
 * Commands under way: those proposed here and those that other servers have passed on. Each has a
 * name (eid) by which it is recognised when its entry is committed, whoever leads by then. So
 * losing the leadership ends no command: it may well be committed by the next leader, and to call
 * it failed would get it done twice.
 *
 * A leader that is sent a command it knows, in its log or lately, does not do it again. A command
 * proposed here is reported done when it is applied here, so that whoever asked then reads it.
 */
import { toHex } from '../stdx/index.ts';
import type { ServerId, Snapshot } from './entry.ts';
import type { Event, Token } from './event.ts';
import type { CommandStatus, ExecuteCommandReply, ExecuteCommandRequest } from './message.ts';
import { COMMANDS_MAX } from './options.ts';
import type { Parts } from './parts.ts';

interface Command {
  readonly eid: string;
  /** Proposed here; null: for others only. */
  token: Token | null;
  /** Who has passed it on; null: nobody. */
  requester: ServerId | null;
  /** Where this server put it into the log as leader; 0: it did not. */
  readonly index: number;
  /** When anything was heard of it last. */
  heardMs: number;
  /** Committed there, and waits for the machine; 0: not known to be committed. */
  doneIndex: number;
}

export class Commands<T> {
  readonly #parts: Parts<T>;
  readonly #commands: Map<string, Command> = new Map();
  /** Of those with `doneIndex`. */
  readonly #done: Set<Command> = new Set();
  /** Of those that this server put into the log: index → command. */
  readonly #placed: Map<number, Command> = new Map();

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#commands.size;
  }

  onPropose(event: Event<T> & { readonly type: 'propose' }): void {
    const { member, outbox, storage, ackCopies } = this.#parts;
    const { command: token, data, size, prerequisite } = event;
    const eid = event.eid ?? this.#newEid();
    if (member.isStopped || member.isJoining) outbox.complete(token, 'shutdown');
    else if (this.#commands.size >= COMMANDS_MAX) outbox.complete(token, 'busy');
    else if (this.#commands.has(eid)) this.#share(eid, token);
    else if (member.isLeader) {
      const request = { eid, data, size, prerequisite };
      this.#execute(request, token, null);
    } else if (member.leader === null) outbox.complete(token, 'not-leader');
    else {
      this.#remember(eid, token, null, 0);
      const message = { type: 'execute-command-request', eid, data, size, prerequisite } as const;
      storage.send(member.leader, message);
      ackCopies.ask();
    }
  }

  onRequest(from: ServerId, request: ExecuteCommandRequest<T>): void {
    const { member } = this.#parts;
    // Known from when this server led: to say that nothing came of it would be a lie.
    if (!member.isLeader && this.isKnown(request.eid)) return;
    if (!member.isLeader) this.#reply(from, request.eid, 'not-leader');
    else if (this.#commands.size >= COMMANDS_MAX) this.#reply(from, request.eid, 'timeout');
    else this.#execute(request, null, from);
  }

  onReply(reply: ExecuteCommandReply): void {
    const command = this.#commands.get(reply.eid);
    if (command === undefined || command.token === null || command.doneIndex !== 0) return;
    command.heardMs = this.#parts.outbox.nowMs;
    if (reply.status === 'in-progress') return;
    if (reply.status === 'success') this.#finish(command, reply.commitIndex);
    else this.#fail(command, reply.status);
  }

  /** An entry is committed, by whichever leader; `eid` null: it is no data. */
  onCommitted(index: number, eid: string | null): void {
    const command = eid === null ? undefined : this.#commands.get(eid);
    if (command !== undefined) this.#finish(command, index);
    // Where this server once put a command, another entry is committed: that one is lost.
    const other = this.#placed.get(index);
    if (other !== undefined && other.doneIndex === 0) this.#fail(other, 'lost-leadership');
  }

  onApplied(index: number): void {
    for (const command of this.#done) {
      if (command.doneIndex > index) continue;
      this.#forget(command);
      if (command.token !== null) {
        this.#parts.outbox.complete(command.token, 'success', command.doneIndex);
      }
    }
  }

  /**
   * Entries up to the snapshot were never seen here: what became of commands among them is open.
   */
  onInstalled(snapshot: Snapshot<T>): void {
    for (const command of this.#commands.values()) {
      if (command.doneIndex !== 0) continue;
      if (command.eid === snapshot.eid) this.#finish(command, snapshot.index);
      else if (command.index !== 0 && command.index <= snapshot.index) {
        this.#fail(command, 'lost-leadership');
      }
    }
  }

  /** Now and then: signs of life for those that wait elsewhere, an end for those that wait here. */
  upkeep(): void {
    const { outbox, member, electionTimer, policy } = this.#parts;
    const limitMs = electionTimer.currentMs * policy.commandTimeoutTimers;
    for (const command of this.#commands.values()) {
      if (command.doneIndex !== 0) continue;
      if (outbox.nowMs - command.heardMs > limitMs) {
        const isLost = command.index !== 0 && !member.isLeader;
        this.#fail(command, isLost ? 'lost-leadership' : 'timeout');
      } else if (command.requester !== null && member.isLeader) {
        this.#reply(command.requester, command.eid, 'in-progress');
      }
    }
  }

  /** The server stops: whatever is open is open for ever. */
  onStopped(): void {
    for (const command of this.#commands.values()) this.#fail(command, 'shutdown');
  }

  /** Whether a leader has this command already: in its log, or lately. */
  isKnown(eid: string): boolean {
    return this.#parts.log.indexOf(eid) !== null;
  }

  #execute(
    request: Pick<ExecuteCommandRequest<T>, 'eid' | 'data' | 'size' | 'prerequisite'>,
    token: Token | null,
    requester: ServerId | null,
  ): void {
    const { log, leader } = this.#parts;
    const { eid, data, size, prerequisite } = request;
    if (this.isKnown(eid)) {
      this.#join(eid, token, requester);
      return;
    }
    if (prerequisite !== null && prerequisite !== log.eid) {
      if (token !== null) this.#parts.outbox.complete(token, 'prerequisite-failed');
      if (requester !== null) this.#reply(requester, eid, 'prerequisite-failed');
      return;
    }
    this.#remember(eid, token, requester, log.end);
    leader.append({ kind: 'data', eid, data, size });
  }

  /** Under way here already: whoever proposes it again hears of it, or has its other answer. */
  #share(eid: string, token: Token): void {
    const command = this.#commands.get(eid) as Command;
    if (command.token === null) command.token = token;
    else this.#parts.outbox.complete(token, 'in-progress');
  }

  /** Asked for once more: whoever asks hears what comes of the first time. */
  #join(eid: string, token: Token | null, requester: ServerId | null): void {
    const { log, commits } = this.#parts;
    const index = log.indexOf(eid) as number;
    const command = this.#commands.get(eid) ?? this.#remember(eid, token, requester, index);
    if (requester !== null) command.requester = requester;
    if (index <= commits.index) {
      this.#finish(command, index);
      this.onApplied(commits.applied);
    }
  }

  #remember(eid: string, token: Token | null, requester: ServerId | null, index: number): Command {
    const heardMs = this.#parts.outbox.nowMs;
    const command: Command = { eid, token, requester, index, heardMs, doneIndex: 0 };
    this.#commands.set(eid, command);
    if (index !== 0) this.#placed.set(index, command);
    return command;
  }

  #finish(command: Command, index: number): void {
    const { commits } = this.#parts;
    if (command.requester !== null) this.#reply(command.requester, command.eid, 'success', index);
    command.requester = null;
    if (command.token === null) {
      this.#forget(command);
      return;
    }
    command.doneIndex = index;
    this.#done.add(command);
    if (index <= commits.applied) this.onApplied(commits.applied);
  }

  #fail(command: Command, status: CommandStatus): void {
    this.#forget(command);
    if (command.token !== null) this.#parts.outbox.complete(command.token, status);
    if (command.requester !== null) this.#reply(command.requester, command.eid, status);
  }

  #forget(command: Command): void {
    this.#commands.delete(command.eid);
    this.#done.delete(command);
    if (this.#placed.get(command.index) === command) this.#placed.delete(command.index);
  }

  #reply(to: ServerId, eid: string, status: CommandStatus, commitIndex: number = 0): void {
    this.#parts.storage.send(to, { type: 'execute-command-reply', eid, status, commitIndex });
  }

  /** Random, so that two servers never choose the same. */
  #newEid(): string {
    const bytes = new Uint8Array(16);
    this.#parts.prng.fill(bytes);
    return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }
}
