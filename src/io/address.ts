/**
 * Addresses as people type them: `3000`, `127.0.0.1`, `127.0.0.1:3000`, `[::1]:3000`, and lists of
 * them with commas. The forms and the refusal of host names are those of the official client, so
 * that one `--addresses` value works everywhere. Every error is one line that names the part that
 * is wrong and what is wanted.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { AddressError } from './errors.ts';

/** Where a replica listens or is dialled. `host` is an IP address, an IPv6 one without brackets. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export const DEFAULT_HOST = '127.0.0.1';
export const DEFAULT_PORT = 3001;
export const ADDRESSES_MAX = 6;
const PORT_MAX = 65_535;

/** The address as it is written: `127.0.0.1:3000`, `[::1]:3000`. */
export function addressText(address: Address): string {
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/**
 * A list of 1 to `max` addresses (6), in the order of the replicas. Port 0 (the system chooses) is
 * allowed for a single address only: nobody could know the others.
 * @throws AddressError
 */
export function parseAddresses(text: string, max: number = ADDRESSES_MAX): Address[] {
  if (text === '') throw new AddressError(`the list of addresses is empty, give 1 to ${max}`);
  const parts = text.split(',');
  if (parts.length > max) {
    throw new AddressError(`${parts.length} addresses given, at most ${max} are possible`);
  }
  const addresses: Address[] = [];
  for (const [index, part] of parts.entries()) {
    if (part === '') throw new AddressError(`address ${index + 1} of ${parts.length} is empty`);
    const address = parseAddress(part);
    if (address.port === 0 && parts.length > 1) {
      throw new AddressError(`port 0 in "${part}" is possible for a single address only`);
    }
    const same = addresses.findIndex((other) => addressText(other) === addressText(address));
    if (same !== -1) {
      throw new AddressError(
        `addresses ${same + 1} and ${index + 1} are the same: ${addressText(address)}`,
      );
    }
    addresses.push(address);
  }
  return addresses;
}

/**
 * One address.
 * @throws AddressError
 */
export function parseAddress(text: string): Address {
  if (/^\d+$/.test(text)) return { host: DEFAULT_HOST, port: parsePort(text, text) };
  if (text.startsWith('[')) return parseBracketed(text);
  if (isIPv6(text)) throw new AddressError(`"${text}" needs brackets, write [${text}]:3000`);
  const colon = text.indexOf(':');
  const host = colon === -1 ? text : text.slice(0, colon);
  if (!isIPv4(host)) throw notAnAddress(text, host);
  return { host, port: colon === -1 ? DEFAULT_PORT : parsePort(text.slice(colon + 1), text) };
}

function parseBracketed(text: string): Address {
  const end = text.indexOf(']');
  if (end === -1) throw new AddressError(`"${text}" has no closing bracket, write [::1]:3000`);
  const host = text.slice(1, end);
  if (!isIPv6(host)) throw new AddressError(`"${host}" in "${text}" is not an IPv6 address`);
  const rest = text.slice(end + 1);
  if (rest === '') return { host, port: DEFAULT_PORT };
  if (!rest.startsWith(':')) {
    throw new AddressError(`"${rest}" after the bracket in "${text}" is not a port like :3000`);
  }
  return { host, port: parsePort(rest.slice(1), text) };
}

function parsePort(digits: string, text: string): number {
  if (!/^\d+$/.test(digits)) {
    throw new AddressError(
      `"${digits}" in "${text}" is not a port, give a number up to ${PORT_MAX}`,
    );
  }
  const port = Number(digits);
  if (port > PORT_MAX) {
    throw new AddressError(`port ${digits} in "${text}" is too large, at most ${PORT_MAX}`);
  }
  return port;
}

function notAnAddress(text: string, host: string): AddressError {
  if (/^[a-z][a-z0-9.-]*$/i.test(host)) {
    return new AddressError(
      `"${text}" is a host name, which clients cannot use: give an IP address such as 127.0.0.1:3000`,
    );
  }
  return new AddressError(`"${text}" is not an address, write a port, ip, ip:port or [ipv6]:port`);
}
