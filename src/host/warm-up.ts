/**
 * Warming up: JavaScript becomes fast by running, and a server that has just started has run
 * nothing. So while nobody asks for anything it works on made-up load in memory, which is thrown
 * away, until the paths that all load takes are compiled: first a ledger with a few large batches,
 * then a cluster of two with many tiny requests. It costs about a second of processor time, once,
 * and gives way to any real work.
 */
import { REPLY_BODY_SIZE_MAX } from '../engine/index.ts';
import { Ledger, Operation } from '../ledger/index.ts';
import { u64Add, u64FromNumber } from '../stdx/index.ts';
import { createChecksum } from '../wire/index.ts';
import { WarmCluster } from './warm-cluster.ts';
import { accountsBody, TransfersBody } from './warm-load.ts';

const ACCOUNTS = 256;
/** Enough that indexes are sealed, which happens every 65,536 rows. */
const BATCHES = 72;
const BATCH_EVENTS = 1_000;
const PAUSE_MS = 4;

const CLUSTER_ACCOUNTS = 16;
/** The compiler waits for 400 to 500 calls. */
const CLUSTER_REQUESTS = 600;
const CLUSTER_EVENTS = 8;
const CLUSTER_PAUSE_MS = 1;
/** A request may meet a primary that is not ready for it. */
const LOOKS_BEFORE_RESEND = 64;
/** A cluster that has not answered all by then is given up. */
const LOOKS_MAX = 4_000;

export interface WarmUpOptions {
  /** A number that moves whenever the server does real work. */
  readonly progress: () => number;
}

/** Runs in the background until it is done or stopped; never keeps the process alive. */
export class WarmUp {
  readonly #options: WarmUpOptions;
  readonly #batches: Iterator<void>;
  readonly #transfers: TransfersBody = new TransfersBody(CLUSTER_EVENTS, CLUSTER_ACCOUNTS);
  /** Its turn comes after the batches. */
  #cluster: WarmCluster | null = null;
  #looks: number = 0;
  #answered: number = 0;
  #timer: NodeJS.Timeout | null = null;
  #progress: number;
  #isDone: boolean = false;

  constructor(options: WarmUpOptions) {
    this.#options = options;
    this.#batches = batches();
    this.#progress = options.progress();
    this.#arm(PAUSE_MS);
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Requests that the cluster in memory has answered. */
  get answered(): number {
    return this.#answered;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#cluster?.stop();
    this.#cluster = null;
  }

  #arm(pauseMs: number): void {
    this.#timer = setTimeout(() => this.#next(), pauseMs);
    this.#timer.unref();
  }

  #next(): void {
    const progress = this.#options.progress();
    const isIdle = progress === this.#progress;
    this.#progress = progress;
    if (this.#cluster !== null) this.#ask(this.#cluster, isIdle);
    else if (isIdle && this.#batches.next().done === true) {
      this.#cluster = new WarmCluster(accountsBody(CLUSTER_ACCOUNTS).length);
    }
    if (this.#isDone) this.stop();
    else this.#arm(this.#cluster === null ? PAUSE_MS : CLUSTER_PAUSE_MS);
  }

  /** Real work ends it for good: a cluster has timers, and must not run beside it. */
  #ask(cluster: WarmCluster, isIdle: boolean): void {
    this.#looks += 1;
    this.#answered = cluster.answered;
    this.#isDone = !isIdle || this.#answered >= CLUSTER_REQUESTS || this.#looks > LOOKS_MAX;
    if (this.#isDone) return;
    if (!cluster.isIdle) {
      if (this.#looks % LOOKS_BEFORE_RESEND === 0) cluster.resend();
    } else if (!cluster.isRegistered) {
      cluster.register();
    } else if (this.#answered === 1) {
      cluster.request(Operation.createAccounts, accountsBody(CLUSTER_ACCOUNTS));
    } else {
      this.#transfers.fill();
      cluster.request(Operation.createTransfers, this.#transfers.bytes);
    }
  }
}

function* batches(): Generator<void, void, void> {
  const ledger = new Ledger({ checksum: createChecksum() });
  const reply = new Uint8Array(REPLY_BODY_SIZE_MAX);
  let timestamp = u64FromNumber(1_000_000_000_000);
  let op = 0;
  const apply = (operation: number, body: Uint8Array): void => {
    timestamp = u64Add(timestamp, ledger.reserve(operation, body) + 1);
    op++;
    ledger.validate(operation, body, body.length);
    ledger.apply({ op, timestamp }, operation, body, reply);
  };
  apply(Operation.createAccounts, accountsBody(ACCOUNTS));
  const transfers = new TransfersBody(BATCH_EVENTS, ACCOUNTS);
  for (let batch = 0; batch < BATCHES; batch++) {
    transfers.fill();
    apply(Operation.createTransfers, transfers.bytes);
    yield;
  }
}
