import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProtocols } from './tls-protocols.ts';

test('protocols are a range however they are written, or nothing', () => {
  const table: readonly (readonly [string | null, string | null, string])[] = [
    [null, null, ''],
    ['TLSv1.3', 'TLSv1.3,TLSv1.3', 'Enabled protocol range: TLSv1.3 - TLSv1.3'],
    ['TLSv1.2,TLSv1.3', 'TLSv1.2,TLSv1.3', 'Enabled protocol range: TLSv1.2 - TLSv1.3'],
    ['TLSv1.3-TLSv1.2', 'TLSv1.2,TLSv1.3', 'Enabled protocol range: TLSv1.2 - TLSv1.3'],
    ['TLSv1.2+', 'TLSv1.2+', 'Enabled protocol range: TLSv1.2 or later'],
    ['TLSv1.1', null, 'TLSv1.1: SSL/TLS protocol not recognized'],
    ['TLSv1.2+TLSv1.3', null, 'TLSv1.2+TLSv1.3: SSL/TLS protocol not recognized'],
    ['', null, 'SSL/TLS protocol settings invalid'],
  ];
  for (const [given, protocols, said] of table) {
    const read = readProtocols(given);
    assert.equal(read.protocols, protocols);
    assert.equal(read.lines.map(({ text }) => text).join(), said);
  }
  const range = readProtocols('TLSv1.2-TLSv1.3,TLSv1.3+');
  assert.equal(range.protocols, null);
});
