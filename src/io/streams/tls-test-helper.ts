/** Certificates for tests, made by the openssl program. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { TlsFiles } from './tls-context.ts';
import { noTlsFiles } from './tls-context.ts';

/** A CA, by the name of its files. */
export function makeCa(folder: string, name: string): string {
  const [key, certificate] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)];
  const subject = ['-subj', `/CN=${name}`, '-days', '2', '-nodes', '-sha256'];
  openssl(['req', '-x509', '-newkey', 'rsa:2048', '-keyout', key, '-out', certificate, ...subject]);
  return certificate;
}

/** Files of somebody whom the CA of that name vouches for. */
export function makeIdentity(folder: string, ca: string, name: string): TlsFiles {
  const at = (end: string): string => join(folder, `${name}.${end}`);
  openssl(
    ['req', '-newkey', 'rsa:2048', '-nodes', '-keyout', at('key'), '-out', at('csr')].concat([
      '-subj',
      `/CN=${name}`,
    ]),
  );
  const signer = ['-CA', join(folder, `${ca}.pem`), '-CAkey', join(folder, `${ca}.key`)];
  const made = ['-CAcreateserial', '-days', '2', '-sha256'];
  openssl(['x509', '-req', '-in', at('csr'), '-out', at('pem'), ...signer, ...made]);
  return {
    ...noTlsFiles,
    privateKey: at('key'),
    certificate: at('pem'),
    caCert: join(folder, `${ca}.pem`),
  };
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
