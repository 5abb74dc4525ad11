/**
 * A simulated client: one request at a time, sent again until it is answered. It is a client in
 * the protocol's sense and a nuisance on top: it asks for answers it already has, dies and comes
 * back as another, wakes sessions that may have been forgotten, and sends what must be refused.
 */
import { assert, bytesEqual, type Prng, readSafeU64, readU32, readU64 } from '../../stdx/index.ts';
import {
  Command,
  EvictionOffset,
  EvictionReason,
  HEADER_SIZE,
  PongClientOffset,
  ReplyOffset,
  RequestOffset,
  readCommand,
  readView,
} from '../../wire/index.ts';
import type { History } from '../checks/history.ts';
import type { Workload } from '../subjects/subject.ts';
import { check } from '../world/failure.ts';
import { drawLatency, type LatencyRange } from '../world/latency.ts';
import { Stream, type World } from '../world/world.ts';
import { evictionProblem, frameProblem, pongProblem, replyProblem } from './client-codec.ts';
import type { ClientLine, LineUser } from './line.ts';
import { FORGERIES, Session, type SessionContext } from './session.ts';

/** After how long a request is sent again: at random, or later each time as official clients do. */
export type Resend = LatencyRange | ResendBackoff;

/** Nanoseconds. First after `firstNs`, then after 2 × `rttNs` and a growing random time on top. */
export interface ResendBackoff {
  readonly firstNs: number;
  readonly rttNs: number;
  readonly jitterMaxNs: number;
}

/** Chances are in 1,000 occasions. */
export interface ClientOptions extends SessionContext {
  readonly index: number;
  readonly resend: Resend;
  readonly think: LatencyRange;
  /** After a reply: ask for it again. */
  readonly repeats: number;
  /** After a reply: go on as a new client and put the old session into the drawer. */
  readonly renewals: number;
  /** After a reply: go on with a session from the drawer. */
  readonly awakenings: number;
  /** When a resend is due: forget the request and go on as a new client. */
  readonly abandons: number;
  /** Instead of a request: something that must be refused. */
  readonly invalids: number;
  readonly pings: number;
  /** Beside a request: one that must be dropped, see `Session.forge`. */
  readonly forgeries: number;
}

/** Makes the line of a client, which draws its chances from the client's generator. */
export type LineMaker = (prng: Prng, pause: LatencyRange) => ClientLine;

/** How many requests all clients together may still make. */
export interface Budget {
  requestsLeft: number;
}

type Purpose = 'register' | 'request' | 'repeat' | 'invalid';

interface InFlight {
  readonly purpose: Purpose;
  readonly bytes: Uint8Array;
  readonly operation: number;
  readonly body: Uint8Array;
  /** Expected eviction reason of an `invalid` one. */
  readonly reason: number;
}

const NOTHING = new Uint8Array(0);
/** Old sessions worth keeping: more than a cluster remembers, so that some are forgotten. */
const DRAWER_MAX = 96;

export class SimClient implements LineUser {
  readonly #world: World;
  readonly #line: ClientLine;
  readonly #history: History;
  readonly #workload: Workload;
  readonly #budget: Budget;
  readonly #options: ClientOptions;
  readonly #prng: Prng;
  #session: Session;
  readonly #drawer: Session[] = [];
  #sessionsMade: number = 0;
  #inFlight: InFlight | null = null;
  #flight: number = 0;
  /** How often the one in flight has been sent. */
  #transmissions: number = 0;
  /** How often it was to be sent again. */
  #attempts: number = 0;
  #view: number = 0;
  /** Sessions whose last answer is still to be asked for again at the end; `null`: not yet. */
  #audit: Session[] | null = null;
  #isStarted: boolean = false;
  #isDone: boolean = false;

  constructor(
    world: World,
    parts: { line: LineMaker; history: History; workload: Workload; budget: Budget },
    options: ClientOptions,
  ) {
    this.#world = world;
    this.#history = parts.history;
    this.#workload = parts.workload;
    this.#budget = parts.budget;
    this.#options = options;
    this.#prng = world.prng(Stream.client, options.index);
    this.#line = parts.line(this.#prng, options.think);
    this.#session = this.#newSession();
  }

  /** All is answered, and nothing more will be asked. */
  get isDone(): boolean {
    return this.#isDone;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** What it is waiting for, for messages about runs that do not end. */
  describe(): string {
    const purpose = this.#inFlight?.purpose ?? 'nothing';
    return `${this.#session.name} ${this.#line.describe()}, ${purpose} in flight`;
  }

  start(): void {
    this.#isStarted = true;
    this.#line.start(this);
    this.#next();
  }

  /** Goes on with what the budget allows now. */
  goOn(): void {
    if (!this.#isDone) return;
    this.#isDone = false;
    this.#next();
  }

  /** After a last restart: asks once more for the last answer of every session it has had. */
  audit(): void {
    assert(this.#isDone, 'SimClient: is not done');
    this.#isDone = false;
    this.#audit = [this.#session, ...this.#drawer].filter((s) => s.requestsAnswered > 0);
    this.#next();
  }

  onOpen(): void {
    if (this.#inFlight !== null) this.#transmit(this.#inFlight);
  }

  onBytes(bytes: Uint8Array): void {
    const { cluster, checksum } = this.#options;
    this.#demand(frameProblem(bytes, cluster, checksum), 'message');
    switch (readCommand(bytes)) {
      case Command.reply:
        this.#onReply(bytes);
        return;
      case Command.eviction:
        this.#onEviction(bytes);
        return;
      case Command.pongClient:
        this.#demand(pongProblem(bytes), 'pong');
        check(this.#isOwnTime(bytes), 'reply-invalid', () => 'pong: timestamp is not a ping’s');
        this.#view = Math.max(this.#view, readView(bytes));
        return;
      default:
        this.#demand('a command that clients do not get', 'message');
        return;
    }
  }

  #onReply(bytes: Uint8Array): void {
    const client = bytes.subarray(ReplyOffset.client, ReplyOffset.client + 16);
    // A straggler for a session that is not in use now.
    if (!bytesEqual(client, 0, this.#session.id, 0, 16)) return;
    const isRepeated = this.#session.isRepeated(bytes);
    const flight = this.#inFlight;
    this.#view = Math.max(this.#view, readView(bytes));
    if (isRepeated) {
      this.#world.coverage.add('repeatedReplies');
      if (flight?.purpose === 'repeat' && isAnswer(bytes, flight.bytes)) this.#finish();
      return;
    }
    check(flight !== null && isAnswer(bytes, flight.bytes), 'reply-invalid', () => {
      return `${this.#session.name}: reply to a request that was never made`;
    });
    this.#demand(replyProblem(bytes, flight.bytes), 'reply');
    const op = readSafeU64(bytes, ReplyOffset.op) ?? 0;
    const timestamp = readU64(bytes, ReplyOffset.timestamp);
    const { operation, body } = flight;
    this.#session.accept(flight.bytes, bytes);
    if (flight.purpose === 'register') {
      this.#history.onRegistered(this.#session.name, op, timestamp);
    } else {
      const reply = { op, timestamp, operation, body: bytes.subarray(HEADER_SIZE) };
      this.#history.onReply(this.#session.name, operation, body, reply);
    }
    this.#finish();
  }

  #onEviction(bytes: Uint8Array): void {
    this.#demand(evictionProblem(bytes), 'eviction');
    const client = bytes.subarray(EvictionOffset.client, EvictionOffset.client + 16);
    if (!bytesEqual(client, 0, this.#session.id, 0, 16)) return;
    if (readView(bytes) < this.#view) return;
    const reason = bytes[EvictionOffset.reason];
    const flight = this.#inFlight;
    // Too low: its own registration came once more, late, after its session was forgotten.
    if (reason === EvictionReason.noSession || reason === EvictionReason.sessionTooLow) {
      this.#world.coverage.add('evictions');
      this.#history.onEvicted(this.#session.name);
      if (flight?.purpose === 'request') this.#abandon(flight);
    } else {
      this.#world.coverage.add('refusals');
      const isWanted = flight?.purpose === 'invalid' && flight.reason === reason;
      check(isWanted, 'eviction', () => {
        return `${this.#session.name}: evicted for reason ${reason} during ${flight?.purpose}`;
      });
    }
    this.#session = this.#newSession();
    this.#finish();
  }

  /** The request in flight has its answer. */
  #finish(): void {
    this.#inFlight = null;
    this.#flight++;
    this.#world.after(drawLatency(this.#prng, this.#options.think), () => this.#next());
  }

  /** Decides what to do next; one of the two places where the nuisance lives. */
  #next(): void {
    if (this.#inFlight !== null) return;
    if (this.#audit !== null) {
      this.#nextAudit(this.#audit);
      return;
    }
    const { repeats, renewals, awakenings, invalids, pings, forgeries } = this.#options;
    if (this.#chance(pings)) this.#ping();
    if (this.#session.requestsAnswered > 0 && this.#chance(forgeries)) this.#forge();
    if (this.#session.number === 0) {
      this.#sendRegister();
      return;
    }
    const last = this.#session.requestLast;
    if (last !== null && this.#mayRepeat && this.#chance(repeats)) {
      this.#sendRepeat(last);
      return;
    }
    if (this.#budget.requestsLeft === 0) {
      this.#isDone = true;
      return;
    }
    if (this.#session.requestsAnswered > 0 && this.#chance(renewals)) {
      this.#putAway();
      this.#session = this.#newSession();
      this.#sendRegister();
      return;
    }
    if (this.#drawer.length > 0 && this.#chance(awakenings)) {
      const index = this.#prng.below(this.#drawer.length);
      const [woken] = this.#drawer.splice(index, 1) as [Session];
      this.#putAway();
      this.#session = woken;
    }
    this.#budget.requestsLeft--;
    if (this.#chance(invalids)) {
      this.#sendInvalid();
      return;
    }
    this.#sendRequest();
  }

  /**
   * A registration that comes again when its session has been forgotten begins a new one: it is
   * asked for twice only where sessions are so few that none is forgotten.
   */
  get #mayRepeat(): boolean {
    const { renewals, abandons, invalids } = this.#options;
    return this.#session.requestsAnswered > 0 || renewals + abandons + invalids === 0;
  }

  #nextAudit(left: Session[]): void {
    const session = left.pop();
    if (session === undefined) {
      this.#isDone = true;
      return;
    }
    this.#session = session;
    this.#sendRepeat(session.requestLast ?? NOTHING);
  }

  #sendRegister(): void {
    const bytes = this.#session.register(this.#view);
    this.#send({ purpose: 'register', bytes, operation: 0, body: NOTHING, reason: 0 });
  }

  #sendRequest(): void {
    const { operation, body } = this.#workload.next();
    this.#world.coverage.add('requests');
    this.#history.onRequest(this.#session.name, operation, body);
    const bytes = this.#session.request(this.#view, operation, body);
    this.#send({ purpose: 'request', bytes, operation, body, reason: 0 });
  }

  #sendInvalid(): void {
    const { operation, body, reason } = this.#workload.invalid();
    this.#world.coverage.add('invalidRequests');
    const bytes = this.#session.request(this.#view, operation, body);
    this.#send({ purpose: 'invalid', bytes, operation, body, reason });
  }

  #sendRepeat(bytes: Uint8Array): void {
    this.#send({ purpose: 'repeat', bytes, operation: 0, body: NOTHING, reason: 0 });
  }

  #send(flight: InFlight): void {
    assert(this.#inFlight === null, 'SimClient: one request at a time');
    this.#inFlight = flight;
    this.#transmissions = 0;
    this.#attempts = 0;
    this.#transmit(flight);
    this.#resendLater();
  }

  #resendLater(): void {
    const number = this.#flight;
    this.#world.after(drawResend(this.#prng, this.#options.resend, this.#attempts++), () => {
      const flight = this.#inFlight;
      if (flight === null || number !== this.#flight) return;
      if (flight.purpose === 'request' && this.#chance(this.#options.abandons)) {
        this.#abandon(flight);
        this.#session = this.#newSession();
        return this.#finish();
      }
      this.#world.coverage.add('resends');
      this.#transmit(flight);
      this.#resendLater();
    });
  }

  /** Nobody will ever hear the answer. */
  #abandon(flight: InFlight): void {
    this.#world.coverage.add('sessionsAbandoned');
    this.#history.onAbandon(this.#session.name, flight.operation, flight.body);
  }

  #transmit(flight: InFlight): void {
    if (!this.#line.isOpen) return;
    const isRegister = flight.purpose === 'register';
    if (isRegister && this.#transmissions > 0) this.#history.onRegisterResent(this.#session.name);
    this.#transmissions++;
    this.#line.request(this.#view, flight.bytes);
  }

  #ping(): void {
    if (!this.#line.isOpen) return;
    this.#world.coverage.add('pings');
    this.#line.ping(this.#session.ping(this.#world.nowNs + 1));
  }

  #forge(): void {
    if (!this.#line.isOpen) return;
    this.#world.coverage.add('forgeries');
    const { operation, body } = this.#workload.next();
    const kind = this.#prng.pick(FORGERIES);
    const bytes = this.#session.forge(kind, this.#view, operation, body);
    this.#line.request(this.#view, bytes);
  }

  /** The second place: what was a session of this client goes on living in the cluster. */
  #putAway(): void {
    if (this.#drawer.length === DRAWER_MAX) this.#drawer.shift();
    this.#drawer.push(this.#session);
    // A connection belongs to one client; who goes on with it is cut off by the server.
    if (this.#line.isOpen && this.#prng.chance(1, 2)) this.#line.hangUp();
  }

  #newSession(): Session {
    const id = new Uint8Array(16);
    this.#prng.fill(id);
    id[0] |= 1;
    const name = `client ${this.#options.index}.${this.#sessionsMade++}`;
    return new Session(name, id, this.#options);
  }

  #chance(permille: number): boolean {
    return this.#prng.chance(permille, 1000);
  }

  /** Also a new primary that makes itself known: it echoes the end of time. */
  #isOwnTime(pong: Uint8Array): boolean {
    const at = PongClientOffset.pingTimestampMonotonic;
    if (pong.subarray(at, at + 8).every((byte) => byte === 0xff)) return true;
    const timestampNs = readSafeU64(pong, PongClientOffset.pingTimestampMonotonic);
    return timestampNs !== null && timestampNs > 0 && timestampNs <= this.#world.nowNs + 1;
  }

  #demand(problem: string | null, what: string): void {
    check(problem === null, 'reply-invalid', () => `${this.#session.name}: ${what}: ${problem}`);
  }
}

function drawResend(prng: Prng, resend: Resend, attempt: number): number {
  if ('maxNs' in resend) return drawLatency(prng, resend);
  if (attempt === 0) return resend.firstNs;
  const jitterNs = Math.min(resend.jitterMaxNs, 10_000_000 * 2 ** Math.min(attempt, 20));
  return 2 * resend.rttNs + 10_000_000 + drawLatency(prng, { minNs: 0, maxNs: jitterNs });
}

function isAnswer(reply: Uint8Array, request: Uint8Array): boolean {
  return readU32(reply, ReplyOffset.request) === readU32(request, RequestOffset.request);
}
