/**
 * The words of the client server: what a peer did wrong, who it was, which cluster it wanted. Texts
 * and counter names come from closed sets; what a peer sent is shown as numbers only.
 */
import type { Socket } from 'node:net';
import { assert } from '../stdx/index.ts';
import { commandName, type FramerError } from '../wire/index.ts';
import { type Address, addressText } from './address.ts';
import { AddressInUseError, AddressUnavailableError, systemCode } from './errors.ts';

/** What is wrong with a stream, for the log. */
export const reasonTexts: { readonly [K in FramerError['kind']]: string } = {
  'header-checksum': 'the header checksum is wrong',
  'unknown-command': 'unknown command',
  'unexpected-command': 'clients do not send this command',
  size: 'the message size is out of range',
  'body-checksum': 'the body checksum is wrong',
  cluster: 'another cluster',
};

/** The decimal number of a cluster id. */
export function clusterText(cluster: Uint8Array): string {
  assert(cluster.length === 16, 'clusterText: a cluster id has 16 bytes');
  let value = 0n;
  for (let i = 15; i >= 0; i--) value = (value << 8n) | BigInt(cluster[i]);
  return value.toString();
}

/** The 16 bytes of an id at `offset` as a text that is equal for equal ids; not for people. */
export function idText(bytes: Uint8Array, offset: number): string {
  assert(offset + 16 <= bytes.length, 'idText: an id has 16 bytes');
  let text = '';
  for (let i = offset; i < offset + 16; i++) text += String.fromCharCode(bytes[i]);
  return text;
}

/** A command for the log: its name, or the number of one that does not exist. */
export function commandText(command: number): string {
  const name = commandName(command);
  return name === 'unknown' ? String(command) : name;
}

/** Why a socket failed, for counters. */
export function errorReason(error: Error): string {
  const code = systemCode(error);
  return code === 'ECONNRESET' || code === 'EPIPE' ? 'reset' : 'socket-error';
}

/** Who is at the other end, for the log. */
export function peerText(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined || remotePort === undefined) return 'a client that has gone';
  return addressText({ host: remoteAddress, port: remotePort });
}

/** The error class for what the system said about an address. */
export function listenError(error: Error, address: Address): Error {
  const text = addressText(address);
  const options = { cause: error };
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return new AddressInUseError(text, options);
    case 'EACCES':
      return new AddressUnavailableError(text, 'no permission for this port', options);
    case 'EADDRNOTAVAIL':
      return new AddressUnavailableError(text, 'it is not an address of this machine', options);
    default:
      return new AddressUnavailableError(text, systemCode(error) || error.message, options);
  }
}
