/**
 * Whether what a replica says of itself is true of its disk at that moment: it speaks in no view
 * that a crash would undo, for no log that a crash would take from it, and acknowledges nothing
 * that a crash would lose.
 */
import { readSafeU64 } from '../../../stdx/index.ts';
import { headerOffset, prepareOffset } from '../../../vsr/index.ts';
import {
  bodyValid,
  type Checksum,
  Command,
  HEADER_SIZE,
  headerValid,
  PeerOffset,
  readCommand,
  readReplica,
  readView,
} from '../../../wire/index.ts';
import { GEOMETRY, type VsrDisk } from './vsr-disk.ts';

/** Who sends these has a log in the view of the message, and keeps it. */
const forLog: ReadonlySet<number> = new Set([
  Command.prepare,
  Command.prepareOk,
  Command.commit,
  Command.startView,
]);
/** These are about the view before, or no view at all. */
const free: ReadonlySet<number> = new Set([
  Command.request,
  Command.ping,
  Command.pong,
  Command.requestStartView,
]);

/** What is wrong with `member` sending `bytes`, if anything. */
export function brokenPromise(
  member: number,
  disk: VsrDisk,
  bytes: Uint8Array,
  checksum: Checksum,
): string | null {
  const command = readCommand(bytes);
  // Prepares of others are passed on as they are.
  if (free.has(command) || readReplica(bytes) !== member) return null;
  const found = disk.superblock;
  if (!found.ok) return 'the superblock is gone';
  const { view, logView } = found.superblock;
  const said = readView(bytes);
  if (said > view) return `it speaks in view ${said}, and a crash takes it back to view ${view}`;
  if (forLog.has(command) && said > logView) {
    return `it speaks for the log of view ${said}, and a crash takes it back to that of ${logView}`;
  }
  if (command !== Command.prepareOk) return null;
  const op = readSafeU64(bytes, PeerOffset.op) ?? -1;
  const wanted = bytes.subarray(PeerOffset.checksum, PeerOffset.checksum + 16);
  const isKept = isDurable(disk, op, wanted, checksum);
  return isKept ? null : `it acknowledges operation ${op}, which is not on its disk`;
}

/** Header and prepare are in their places, whole. */
function isDurable(disk: VsrDisk, op: number, wanted: Uint8Array, checksum: Checksum): boolean {
  const slot = op % GEOMETRY.slots;
  const header = disk.read(headerOffset(GEOMETRY, slot), HEADER_SIZE);
  const prepare = disk.read(prepareOffset(GEOMETRY, slot), GEOMETRY.slotSize);
  for (const bytes of [header, prepare]) {
    if (!headerValid(bytes, checksum) || wanted.some((byte, i) => bytes[i] !== byte)) return false;
  }
  return bodyValid(prepare, checksum);
}
