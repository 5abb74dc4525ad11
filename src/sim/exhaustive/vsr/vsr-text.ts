/** VSR in words: for people, and as keys by which equal things are found to be equal. */
import { readSafeU64, toHex } from '../../../stdx/index.ts';
import {
  Command,
  HEADER_SIZE,
  PeerOffset,
  PrepareOffset,
  readCommand,
  readSize,
  readView,
} from '../../../wire/index.ts';

/** Bytes of a message, or the end of a link. */
export type VsrLetter = Uint8Array | 'link-lost';

const names: ReadonlyMap<number, string> = new Map(
  Object.entries(Command).map(([name, command]) => [command, name]),
);

/** The header's checksum tells all of a message, its body too. */
export function letterText(letter: VsrLetter): string {
  return letter === 'link-lost' ? letter : toHex(letter.subarray(0, 16));
}

export function shortChecksum(bytes: Uint8Array, offset: number = 0): string {
  return toHex(bytes.subarray(offset, offset + 4));
}

export function opOf(header: Uint8Array): number {
  return readSafeU64(header, PrepareOffset.op) ?? -1;
}

export function headerText(header: Uint8Array): string {
  return `${opOf(header)}@${readView(header)} ${shortChecksum(header)}`;
}

export function describeLetter(letter: VsrLetter): string {
  if (letter === 'link-lost') return 'news that the link was lost';
  const number = (offset: number): number => readSafeU64(letter, offset) ?? -1;
  const command = readCommand(letter);
  const name = `${names.get(command) ?? command} (view ${readView(letter)}`;
  switch (command) {
    case Command.prepare:
      return `${name}, op ${opOf(letter)}, commit ${number(PrepareOffset.commit)})`;
    case Command.prepareOk:
      return `${name}, op ${number(PeerOffset.op)})`;
    case Command.commit:
      return `${name}, commit ${number(PeerOffset.commitMax)})`;
    case Command.doViewChange:
    case Command.startView: {
      const headers: string[] = [];
      for (let at = HEADER_SIZE; at < readSize(letter); at += HEADER_SIZE) {
        headers.push(headerText(letter.subarray(at, at + HEADER_SIZE)));
      }
      const isVote = command === Command.doViewChange;
      const log = isVote ? `, log view ${number(PeerOffset.logView)}` : '';
      return `${name}${log}, op ${number(PeerOffset.op)}, headers [${headers.join(', ')}])`;
    }
    case Command.requestPrepare:
    case Command.requestHeaders:
      return `${name}, op ${number(PeerOffset.op)})`;
    default:
      return `${name})`;
  }
}
