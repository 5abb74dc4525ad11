/**
 * Reads the log of a quiet data file with eyes of its own and holds it against the history: the two
 * rings agree, operations chain without a hole, each is the one that was executed, and the digest
 * that follows from the prepares and from replies built here is the one the engine announces.
 *
 * It shares the layout of the file with the engine and nothing else; replies are built from the
 * protocol's description.
 */
import { OPERATION_PULSE } from '../../engine/index.ts';
import {
  bytesEqual,
  fromHex,
  readSafeU64,
  readU64,
  toHex,
  u64Compare,
  writeU32,
} from '../../stdx/index.ts';
import { type Geometry, headerOffset, prepareOffset } from '../../vsr/index.ts';
import {
  bodyValid,
  type Checksum,
  Command,
  HEADER_SIZE,
  headerValid,
  initHeader,
  Offset,
  OPERATION_NOOP,
  OPERATION_REGISTER,
  PrepareOffset,
  ReplyOffset,
  readCommand,
  readRelease,
  readReplica,
  readSize,
  readView,
  sealReply,
} from '../../wire/index.ts';
import { check } from '../world/failure.ts';
import { type History, requestFingerprint } from './history.ts';

export interface LogAuditOptions {
  readonly geometry: Geometry;
  readonly checksum: Checksum;
  readonly read: (offset: number, length: number) => Uint8Array;
  readonly history: History;
  /** The state at the checkpoint: where the digest starts from. */
  readonly checkpoint: { readonly op: number; readonly digest: Uint8Array };
  readonly commitMin: number;
  /** Hexadecimal; of everything up to `commitMin`. */
  readonly digest: string;
}

/** Fails the run at the first thing that is not as it should be. */
export function auditLog(options: LogAuditOptions): void {
  const { checkpoint, commitMin, checksum } = options;
  const digest = new Uint8Array(48);
  digest.set(checkpoint.digest);
  let parent: Uint8Array | null = null;
  for (let op = checkpoint.op + 1; op <= commitMin; op++) {
    const prepare = readPrepare(options, op);
    const chains = parent === null || bytesEqual(prepare, PrepareOffset.parent, parent, 0, 16);
    demand(chains, op, 'does not chain to the one before');
    parent = prepare.subarray(0, 16);
    const reply = buildReply(options, op, prepare);
    digest.set(prepare.subarray(0, 16), 16);
    digest.set(reply.subarray(0, 16), 32);
    checksum.digest(digest, 0, 48, digest, 0);
  }
  const expected = fromHex(options.digest);
  const isEqual = bytesEqual(digest, 0, expected, 0, 16);
  check(isEqual, 'divergence', () => {
    const computed = toHex(digest.subarray(0, 16));
    return `digest after op ${commitMin} is ${options.digest}, the log and its replies give ${computed}`;
  });
}

function readPrepare({ geometry, checksum, read }: LogAuditOptions, op: number): Uint8Array {
  const slot = op % geometry.slots;
  const prepare = read(prepareOffset(geometry, slot), geometry.slotSize);
  const header = read(headerOffset(geometry, slot), HEADER_SIZE * 16);
  demand(headerValid(prepare, checksum), op, 'has a bad header checksum');
  demand(readCommand(prepare) === Command.prepare, op, 'is not a prepare');
  demand(readSafeU64(prepare, PrepareOffset.op) === op, op, 'is another operation');
  demand(readSize(prepare) <= geometry.slotSize, op, 'is larger than its slot');
  demand(bodyValid(prepare, checksum), op, 'has a bad body checksum');
  demand(bytesEqual(prepare, 0, header, 0, HEADER_SIZE), op, 'differs from its header');
  const padding = prepare.subarray(readSize(prepare), Math.ceil(readSize(prepare) / 4096) * 4096);
  demand(!padding.some((byte) => byte !== 0), op, 'has padding that is not zero');
  return prepare;
}

/** The reply to a prepare, as the protocol describes it, around the body that history knows. */
function buildReply(options: LogAuditOptions, op: number, prepare: Uint8Array): Uint8Array {
  const body = replyBody(options, op, prepare);
  const size = HEADER_SIZE + body.length;
  const reply = new Uint8Array(size);
  initHeader(reply, {
    command: Command.reply,
    size,
    cluster: prepare.subarray(Offset.cluster, Offset.cluster + 16),
    view: readView(prepare),
    release: readRelease(prepare),
    replica: readReplica(prepare),
  });
  const copy = (to: number, from: number, length: number): void =>
    reply.set(prepare.subarray(from, from + length), to);
  copy(ReplyOffset.requestChecksum, PrepareOffset.requestChecksum, 16);
  copy(ReplyOffset.client, PrepareOffset.client, 16);
  copy(ReplyOffset.op, PrepareOffset.op, 8);
  copy(ReplyOffset.commit, PrepareOffset.op, 8);
  copy(ReplyOffset.timestamp, PrepareOffset.timestamp, 8);
  copy(ReplyOffset.request, PrepareOffset.request, 4);
  reply[ReplyOffset.operation] = prepare[PrepareOffset.operation];
  reply.set(body, HEADER_SIZE);
  sealReply(reply, options.checksum);
  return reply;
}

function replyBody(
  { history, geometry }: LogAuditOptions,
  op: number,
  prepare: Uint8Array,
): Uint8Array {
  const operation = prepare[PrepareOffset.operation];
  if (operation === OPERATION_REGISTER) {
    const body = new Uint8Array(64);
    writeU32(body, 0, geometry.requestSizeMax - HEADER_SIZE);
    return body;
  }
  if (operation === OPERATION_NOOP) return new Uint8Array(0);
  const commit = history.commitAt(op);
  demand(commit !== null, op, 'was never executed');
  const request = prepare.subarray(HEADER_SIZE, readSize(prepare));
  const isSame = commit.request === requestFingerprint(operation, request);
  demand(isSame, op, 'is not what was executed');
  const timestamp = readU64(prepare, PrepareOffset.timestamp);
  demand(u64Compare(timestamp, commit.timestamp) === 0, op, 'was executed with another timestamp');
  return operation === OPERATION_PULSE ? new Uint8Array(0) : commit.reply;
}

function demand(condition: boolean, op: number, problem: string): asserts condition {
  check(condition, 'lost-operation', () => `log: op ${op} ${problem}`);
}
