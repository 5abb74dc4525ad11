/** A certificate authority of a test's own, with one key that it vouches for; made by openssl. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { executable } from './peer.ts';

/** Why there can be none; `false`: there can. For the `skip` option of a test. */
export function certificatesMissing(): string | false {
  return executable('openssl') === null ? 'NOTHING WAS TESTED: openssl not found' : false;
}

/** Writes cacert.pem, key.pem, cert.pem, and chain.pem, which is both certificates. */
export function makeCertificates(folder: string): void {
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  };
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  const authority = ['-x509', ...key, '-keyout', 'cakey.pem', '-out', 'cacert.pem'];
  openssl('req', ...authority, '-subj', '/CN=ca', '-addext', 'basicConstraints=critical,CA:TRUE');
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'req.pem', '-subj', '/CN=me');
  const signed = ['-CA', 'cacert.pem', '-CAkey', 'cakey.pem', '-CAcreateserial'];
  openssl('x509', '-req', '-in', 'req.pem', ...signed, '-out', 'cert.pem');
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  writeFileSync(join(folder, 'chain.pem'), read('cert.pem') + read('cacert.pem'));
}
