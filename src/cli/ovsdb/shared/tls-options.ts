/** The options about TLS, and the help about ways to connect, which belongs to it. */
import type { GivenOption, LongOption } from './getopt.ts';

/** File names and lists as given, or, for the server, `db:DB,TABLE,COLUMN`; `null`: not given. */
export interface TlsSettings {
  privateKey: string | null;
  certificate: string | null;
  caCert: string | null;
  /** Whether the CA certificate is taken from the first peer where the file does not exist. */
  bootstrapCaCert: boolean;
  /** Sent to peers for their bootstrapping. */
  peerCaCert: string | null;
  protocols: string | null;
  ciphers: string | null;
  ciphersuites: string | null;
  serverName: string | null;
}

export const tlsOptions: readonly LongOption[] = [
  { name: 'bootstrap-ca-cert', argument: 'required' },
  { name: 'peer-ca-cert', argument: 'required' },
  { name: 'private-key', argument: 'required', short: 'p' },
  { name: 'certificate', argument: 'required', short: 'c' },
  { name: 'ca-cert', argument: 'required', short: 'C' },
  { name: 'ssl-protocols', argument: 'required' },
  { name: 'ssl-ciphers', argument: 'required' },
  { name: 'ssl-ciphersuites', argument: 'required' },
  { name: 'ssl-server-name', argument: 'required' },
];

export function withoutTls(): TlsSettings {
  return {
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
}

/** Notes the option if it is one of these. */
export function takeTlsOption(settings: TlsSettings, { name, argument }: GivenOption): boolean {
  switch (name) {
    case 'private-key':
      settings.privateKey = argument;
      return true;
    case 'certificate':
      settings.certificate = argument;
      return true;
    case 'ca-cert':
    case 'bootstrap-ca-cert':
      settings.caCert = argument;
      settings.bootstrapCaCert = name === 'bootstrap-ca-cert';
      return true;
    case 'peer-ca-cert':
      settings.peerCaCert = argument;
      return true;
    case 'ssl-protocols':
      settings.protocols = argument;
      return true;
    case 'ssl-ciphers':
      settings.ciphers = argument;
      return true;
    case 'ssl-ciphersuites':
      settings.ciphersuites = argument;
      return true;
    case 'ssl-server-name':
      settings.serverName = argument;
      return true;
    default:
      return false;
  }
}

/** `name`: what is spoken over the connections; which groups are shown. */
export function streamUsage(name: string, active: boolean, passive: boolean): string {
  const activeText = `Active ${name} connection methods:
  tcp:HOST:PORT           PORT at remote HOST
  ssl:HOST:PORT           SSL PORT at remote HOST
  unix:FILE               Unix domain socket named FILE
`;
  const passiveText = `Passive ${name} connection methods:
  ptcp:PORT[:IP]          listen to TCP PORT on IP
  pssl:PORT[:IP]          listen for SSL on PORT on IP
  punix:FILE              listen on Unix domain socket FILE
`;
  return `
${active ? activeText : ''}${passive ? passiveText : ''}\
PKI configuration (required to use SSL):
  -p, --private-key=FILE  file with private key
  -c, --certificate=FILE  file with certificate for private key
  -C, --ca-cert=FILE      file with peer CA certificate
  --bootstrap-ca-cert=FILE  file with peer CA certificate to read or create
SSL options:
  --ssl-protocols=PROTOS  list of SSL protocols to enable
  --ssl-ciphers=CIPHERS   list of SSL ciphers to enable
  --ssl-ciphersuites=SUITES  list of ciphersuites to enable with TLS 1.3
  --ssl-server-name=NAME  server name for TLS Server Name Indication (SNI)
`;
}
