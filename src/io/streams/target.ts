/**
 * Where to connect to, or to listen, as users of OVSDB write it (ovsdb(7), "Connection methods"):
 * `tcp:HOST:PORT`, `ssl:HOST:PORT`, `unix:PATH` to connect, `ptcp:[PORT][:HOST]`,
 * `pssl:[PORT][:HOST]`, `punix:PATH` to listen. IPv6 addresses stand in brackets.
 */
import { RoundelayError } from '../errors.ts';
import { STREAM_PORT } from './limits.ts';

interface InternetTarget<Kind> {
  readonly kind: Kind;
  /** As given. */
  readonly text: string;
  /** To listen: an address; `0.0.0.0` where none was given. */
  readonly host: string;
  /** To listen: 0 lets the system choose one. */
  readonly port: number;
}

interface UnixTarget<Kind> {
  readonly kind: Kind;
  readonly text: string;
  readonly path: string;
}

export type ActiveTarget = InternetTarget<'tcp'> | InternetTarget<'ssl'> | UnixTarget<'unix'>;
export type PassiveTarget = InternetTarget<'ptcp'> | InternetTarget<'pssl'> | UnixTarget<'punix'>;

export type Target = ActiveTarget | PassiveTarget;

/** The text is no target. */
export class TargetError extends RoundelayError {
  override readonly name: string = 'TargetError';
  readonly target: string;

  constructor(target: string, reason: string) {
    super('ERR_STREAM_TARGET', `${target}: ${reason}`);
    this.target = target;
  }
}

const PORT_MAX = 65_535;
/** IPv4 only, as with the original. */
const ALL_ADDRESSES = '0.0.0.0';

/** @throws TargetError */
export function parseTarget(text: string): Target {
  const kind = text.slice(0, Math.max(0, text.indexOf(':')));
  const rest = text.slice(kind.length + 1);
  switch (kind) {
    case 'unix':
    case 'punix':
      if (rest === '') throw new TargetError(text, 'a path is missing');
      return { kind, text, path: rest };
    case 'tcp':
    case 'ssl': {
      const match = /^(\[[^\]]+\]|[^:]+)(?::(.*))?$/.exec(rest);
      if (match === null) throw new TargetError(text, 'host must be specified');
      const port = portOf(text, match[2] ?? '');
      if (port === 0) throw new TargetError(text, 'bad port number "0"');
      return { kind, text, host: withoutBrackets(match[1] as string), port };
    }
    case 'ptcp':
    case 'pssl': {
      const match = /^(\d*)(?::(\[[^\]]+\]|[^:]*))?$/.exec(rest);
      if (match === null) throw new TargetError(text, 'PORT[:HOST] must follow');
      const host = withoutBrackets(match[2] ?? '');
      return {
        kind,
        text,
        host: host === '' ? ALL_ADDRESSES : host,
        port: portOf(text, match[1] ?? ''),
      };
    }
    default:
      throw new TargetError(text, 'there is no such kind of target');
  }
}

export function isPassive(target: Target): target is PassiveTarget {
  return target.kind === 'ptcp' || target.kind === 'pssl' || target.kind === 'punix';
}

/** Whether silence has to be asked about: unix sockets break with their process. */
export function needsProbes(target: string): boolean {
  return !/^p?unix:/.test(target);
}

/** An address as it stands before a port. */
export function hostText(address: string): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  return plain.includes(':') ? `[${plain}]` : plain;
}

function portOf(target: string, text: string): number {
  if (text === '') return STREAM_PORT;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : PORT_MAX + 1;
  if (port > PORT_MAX) throw new TargetError(target, `bad port number "${text}"`);
  return port;
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
