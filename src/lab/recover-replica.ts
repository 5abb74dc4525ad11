/**
 * Makes the data file of a replica again whose file was lost. A fresh file would be dangerous: the
 * lost one may have acknowledged operations that, with it, no other quorum knows of, and a replica
 * that has forgotten must not vote as if it never had. So the others are asked first to commit a
 * whole pipeline of operations that do nothing: all that the lost replica can have acknowledged is
 * then held by a quorum without it. The file begins two views above the one in which that happened,
 * and says that it was recovered, which gives the replica no vote until it has caught up.
 */
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { LedgerConnection, type ReplicaReport, requestStatus } from '../client/index.ts';
import { PIPELINE_MAX } from '../engine/index.ts';
import { type FormattedFile, formatLedger } from '../host/index.ts';
import { type Address, addressText, DataFileExistsError, RoundelayError } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { GEOMETRY_DEVELOPMENT } from '../vsr/index.ts';
import { HEADER_SIZE, OPERATION_NOOP } from '../wire/index.ts';

export interface RecoverOptions {
  readonly path: string;
  readonly cluster: bigint;
  /** Index of the replica whose file was lost. */
  readonly replica: number;
  /** Of all replicas, in order. */
  readonly addresses: readonly Address[];
  /** How long the others may take for all of it, ms. */
  readonly timeoutMs: number;
}

export interface RecoveredFile extends FormattedFile {
  /** The view that the replica begins with. */
  readonly view: number;
}

/** The cluster cannot take a replica with a new file, now or ever; the message says why. */
export class RecoverRefusedError extends RoundelayError {
  override readonly name: string = 'RecoverRefusedError';

  constructor(message: string, options?: ErrorOptions) {
    super('ERR_RECOVER_REFUSED', message, options);
  }
}

const STATUS_TIMEOUT_MS = 1_000;

/**
 * Commits with the others, then makes the file. Start it as any other.
 * @throws RecoverRefusedError, DataFileExistsError, LedgerClientError, and as `formatLedger`
 */
export async function recoverReplica(options: RecoverOptions): Promise<RecoveredFile> {
  const { path, cluster, replica, addresses } = options;
  assert(replica < addresses.length, 'recoverReplica: no such replica');
  if (existsSync(path)) throw new DataFileExistsError(path);
  refuseSmall(addresses.length);
  const reports = await Promise.all(addresses.map((address) => report(address, cluster)));
  refuseRaft(reports, addresses);
  refuseRunning(reports[replica], replica, addresses[replica]);
  refuseOther(reports, addresses);
  const { view, bodySizeMax } = await commitPipeline(options, reports);
  const development = HEADER_SIZE + bodySizeMax <= GEOMETRY_DEVELOPMENT.requestSizeMax;
  const replicaCount = addresses.length;
  const recovered = { view: viewAfter(view, replica, replicaCount) };
  const made = await formatLedger({ path, cluster, replica, replicaCount, development, recovered });
  return { ...made, view: recovered.view };
}

/** Two views on, or three: not one that the replica would have to lead, which it cannot yet. */
function viewAfter(view: number, replica: number, replicaCount: number): number {
  const next = view + 2;
  return next % replicaCount === replica ? next + 1 : next;
}

function refuseSmall(replicaCount: number): void {
  if (replicaCount === 1) {
    throw new RecoverRefusedError('a single replica has nobody to recover from');
  }
  if (replicaCount > 2) return;
  throw new RecoverRefusedError(
    'of two replicas both are needed to commit anything, so the one that is left cannot vouch for ' +
      'what the lost one had acknowledged: the lost file itself has to come back, or a copy that ' +
      'was made after its replica had stopped for the last time; an older one is not safe',
  );
}

/**
 * Raft knows no replica that has forgotten, and its votes count at once: a new file could give a
 * vote a second time, or be elected without what the lost one had acknowledged.
 */
function refuseRaft(
  reports: readonly (ReplicaReport | null)[],
  addresses: readonly Address[],
): void {
  const index = reports.findIndex((one) => one?.['engine'] === 'raft');
  if (index < 0) return;
  throw new RecoverRefusedError(
    `the replica at ${addressText(addresses[index])} runs engine raft, where a lost file cannot be ` +
      'made again: put back the lost file itself, or a copy that was made after its replica had ' +
      'stopped for the last time; until then go on without it',
  );
}

/** Two replicas of one index would contradict each other. */
function refuseRunning(own: ReplicaReport | null, replica: number, address: Address): void {
  if (own === null) return;
  throw new RecoverRefusedError(
    `replica ${replica} is running at ${addressText(address)}, with the data file ` +
      `${String(own['file'])}: only a lost file is made again`,
  );
}

function refuseOther(
  reports: readonly (ReplicaReport | null)[],
  addresses: readonly Address[],
): void {
  for (const [index, one] of reports.entries()) {
    if (one === null) continue;
    if (one['replicaCount'] === addresses.length && one['replica'] === index) continue;
    throw new RecoverRefusedError(
      `${addressText(addresses[index])} is replica ${String(one['replica'])} of ` +
        `${String(one['replicaCount'])}, not replica ${index} of ${addresses.length}`,
    );
  }
}

/** What all the others together can vouch for afterwards. */
async function commitPipeline(
  options: RecoverOptions,
  reports: readonly (ReplicaReport | null)[],
): Promise<{ view: number; bodySizeMax: number }> {
  const { cluster, addresses, timeoutMs } = options;
  const connection = new LedgerConnection({
    addresses,
    cluster,
    connectTimeoutMs: timeoutMs,
    requestTimeoutMs: timeoutMs,
    clientId: randomFillSync(new Uint8Array(16)),
    nowMs: () => performance.now(),
  });
  try {
    await connection.open();
    for (let i = 0; i < PIPELINE_MAX; i++) {
      await connection.submit(OPERATION_NOOP, new Uint8Array(0));
    }
    const { view, bodySizeMax } = connection;
    return { view, bodySizeMax };
  } catch (error) {
    throw refusal(error, options, reports);
  } finally {
    connection.close();
  }
}

/** A cluster that does not answer has no quorum; anything else is passed on. */
function refusal(
  error: unknown,
  { replica, timeoutMs }: RecoverOptions,
  reports: readonly (ReplicaReport | null)[],
): unknown {
  const code = error instanceof RoundelayError ? error.code : '';
  const silent = ['ERR_CONNECT_REFUSED', 'ERR_CONNECT_TIMEOUT', 'ERR_REQUEST_TIMEOUT'];
  if (!silent.includes(code)) return error;
  const answering = reports.filter((one) => one !== null);
  const need = answering.map((one) => Number(one['quorum'])).find(Number.isSafeInteger);
  const wanted = need === undefined ? '' : `, ${need} are needed`;
  return new RecoverRefusedError(
    `replica ${replica} cannot be recovered without a quorum of the others, which have to commit ` +
      `first: ${answering.length} of them answered${wanted}, and nothing was committed in ` +
      `${timeoutMs} ms`,
    { cause: error },
  );
}

function report(address: Address, cluster: bigint): Promise<ReplicaReport | null> {
  const options = { address, cluster, timeoutMs: STATUS_TIMEOUT_MS };
  return requestStatus(options).catch(() => null);
}
