/**
 * Keys and certificates for TLS streams, read from files that may change: whoever opens a stream
 * asks for the present {@link TlsContext.secure}, which looks at the files' times at most once a
 * second. Both sides prove who they are; host names are not looked at, as the CA is private.
 *
 * With bootstrapping, a CA file that does not exist is made of what the first server shows when
 * this side connects; the connection is then made again and has to pass.
 */
import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import tls from 'node:tls';
import { systemCode } from '../errors.ts';
import { TlsSettingsError } from './errors.ts';

/** File names, and lists as OpenSSL's tools take them; `null`: not given. */
export interface TlsFiles {
  readonly privateKey: string | null;
  readonly certificate: string | null;
  /** `none`: the other side need not prove anything. */
  readonly caCert: string | null;
  readonly bootstrapCaCert: boolean;
  /** Shown beside this side's certificate, for bootstrapping. */
  readonly peerCaCert: string | null;
  /** E.g. `TLSv1.2,TLSv1.3`, or `TLSv1.2+`. */
  readonly protocols: string | null;
  readonly ciphers: string | null;
  readonly ciphersuites: string | null;
  /** For the extension of that name when connecting. */
  readonly serverName: string | null;
}

export interface SecureSettings {
  readonly context: tls.SecureContext;
  /** Everything the context was made of, for servers that take no context. */
  readonly options: tls.SecureContextOptions;
  /** The other side's certificate must be signed by the CA. */
  readonly verifies: boolean;
  /** The CA file is to be made of what the other side shows. */
  readonly bootstraps: boolean;
}

export const noTlsFiles: TlsFiles = {
  privateKey: null,
  certificate: null,
  caCert: null,
  bootstrapCaCert: false,
  peerCaCert: null,
  protocols: null,
  ciphers: null,
  ciphersuites: null,
  serverName: null,
};

const LOOK_INTERVAL_MS = 1_000;
const VERSIONS: readonly tls.SecureVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

export class TlsContext {
  #files: TlsFiles;
  #secure: SecureSettings | null = null;
  #times: string = '';
  #lookedMs: number = Number.NEGATIVE_INFINITY;

  constructor(files: TlsFiles = noTlsFiles) {
    this.#files = files;
  }

  get serverName(): string | null {
    return this.#files.serverName;
  }

  configure(files: TlsFiles): void {
    this.#files = files;
    this.#secure = null;
  }

  /**
   * What streams use from now on; the same object until something changes. When changed files do
   * not fit each other, which they may not while they are being exchanged, the old ones go on.
   * @throws TlsSettingsError
   */
  secure(nowMs: number): SecureSettings {
    const last = this.#secure;
    if (last !== null && !last.bootstraps && nowMs < this.#lookedMs + LOOK_INTERVAL_MS) return last;
    this.#lookedMs = nowMs;
    const times = this.#fileTimes();
    if (last !== null && times === this.#times) return last;
    try {
      this.#secure = read(this.#files);
      this.#times = times;
    } catch (error) {
      if (last === null) throw error;
    }
    return this.#secure ?? read(this.#files);
  }

  #fileTimes(): string {
    const { privateKey, certificate, caCert, peerCaCert } = this.#files;
    const times = [privateKey, certificate, caCert, peerCaCert].map((path) => {
      if (path === null) return '';
      const stat = fs.statSync(path, { throwIfNoEntry: false });
      return stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    });
    return times.join(' ');
  }

  /**
   * Writes the CA file from the chain that the other side has shown.
   * @throws TlsSettingsError
   */
  bootstrap(socket: tls.TLSSocket): void {
    const path = this.#files.caCert;
    if (path === null) throw new TlsSettingsError('there is no CA file to be made');
    let certificate = socket.getPeerCertificate(true);
    while (certificate.issuerCertificate !== undefined) {
      if (certificate.issuerCertificate.fingerprint256 === certificate.fingerprint256) break;
      certificate = certificate.issuerCertificate;
    }
    const found = new X509Certificate(certificate.raw);
    if (!found.checkIssued(found)) {
      throw new TlsSettingsError('could not bootstrap CA cert: the peer shows no CA certificate');
    }
    try {
      fs.writeFileSync(path, found.toString(), { flag: 'wx', mode: 0o444 });
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') {
        throw new TlsSettingsError(`could not bootstrap CA cert: creating ${path} failed`);
      }
    }
    this.#secure = null;
  }
}

function read(files: TlsFiles): SecureSettings {
  const { privateKey, certificate, caCert, peerCaCert, bootstrapCaCert } = files;
  if (privateKey === null) throw new TlsSettingsError('Private key must be configured to use SSL');
  if (certificate === null) throw new TlsSettingsError('Certificate must be configured to use SSL');
  if (caCert === null) throw new TlsSettingsError('CA certificate must be configured to use SSL');
  const verifies = caCert !== 'none';
  const bootstraps = verifies && bootstrapCaCert && !fs.existsSync(caCert);
  let cert = readText(certificate);
  if (peerCaCert !== null) cert += `\n${readText(peerCaCert)}`;
  const options: tls.SecureContextOptions = {
    key: readText(privateKey),
    cert,
    ...(verifies && !bootstraps ? { ca: readText(caCert) } : {}),
    ...versionsOf(files.protocols),
    ...ciphersOf(files),
  };
  try {
    return { context: tls.createSecureContext(options), options, verifies, bootstraps };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TlsSettingsError(`keys, certificates or ciphers do not fit: ${reason}`);
  }
}

function readText(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    throw new TlsSettingsError(`cannot read ${path}: ${systemCode(error)}`, { cause: error });
  }
}

function versionsOf(text: string | null): tls.SecureContextOptions {
  if (text === null) return {};
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const found = words.map((word) => VERSIONS.indexOf(word.replace(/\+$/, '') as never));
  if (words.length === 0 || found.includes(-1)) {
    throw new TlsSettingsError(`${text}: SSL/TLS protocol not recognized`);
  }
  const open = words.some((word) => word.endsWith('+'));
  const minVersion = VERSIONS[Math.min(...found)];
  const maxVersion = open ? 'TLSv1.3' : VERSIONS[Math.max(...found)];
  return {
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(maxVersion === undefined ? {} : { maxVersion }),
  };
}

function ciphersOf({ ciphers, ciphersuites }: TlsFiles): tls.SecureContextOptions {
  if (ciphers === null && ciphersuites === null) return {};
  const suites = ciphersuites ?? 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';
  return { ciphers: `${suites}:${ciphers ?? 'HIGH:!aNULL:!MD5'}` };
}
