/**
 * What members of a Raft cluster tell each other, out of the bytes that they hand to the network.
 * Messages that are larger than a frame are put together here, by sender and receiver.
 */
import {
  Assemblies,
  type InstallSnapshotRequest,
  type Msg,
  readFrame,
  readMessage,
} from '../../raft/index.ts';
import { Command, HEADER_SIZE, readCommand, readSize } from '../../wire/index.ts';
import { check } from '../world/failure.ts';

/** `isWhole`: not only the announcement of a snapshot, whose data come in pieces. */
export interface Heard {
  readonly message: Msg<Uint8Array>;
  readonly isWhole: boolean;
}

const MEMBERS = 16;

export class RaftWire {
  readonly #assemblies: Assemblies = new Assemblies();

  /** `null`: no message of Raft, or only a part of one. */
  hear(from: number, to: number, bytes: Uint8Array): Heard | null {
    if (readCommand(bytes) !== Command.raft) return null;
    const what = (): string => `r${from} to r${to}`;
    const frame = readFrame(bytes, from);
    check(frame !== null, 'message-misuse', () => `${what()}: a frame that nobody understands`);
    if (frame.kind === 'want' || frame.kind === 'piece') return null;
    if (frame.kind === 'offer') {
      const offer = readMessage(bytes, HEADER_SIZE, readSize(bytes));
      check(isSnapshot(offer), 'message-misuse', () => `${what()}: offers something else`);
      return { message: offer, isWhole: false };
    }
    const whole = this.#assemblies.add(from * MEMBERS + to, frame, bytes, HEADER_SIZE);
    if (whole === null) return null;
    const message = readMessage(whole, 0, whole.length);
    check(message !== null, 'message-misuse', () => `${what()}: a message that is none`);
    return { message, isWhole: true };
  }
}

function isSnapshot(
  message: Msg<Uint8Array> | null,
): message is InstallSnapshotRequest<Uint8Array> {
  return message?.type === 'install-snapshot-request';
}
