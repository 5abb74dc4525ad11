import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressText, parseAddresses } from './address.ts';

const accepted: readonly (readonly [string, readonly string[]])[] = [
  ['3000', ['127.0.0.1:3000']],
  ['0', ['127.0.0.1:0']],
  ['65535', ['127.0.0.1:65535']],
  ['127.0.0.1', ['127.0.0.1:3001']],
  ['127.0.0.1:3000', ['127.0.0.1:3000']],
  ['10.1.2.3:4', ['10.1.2.3:4']],
  ['[::1]:3000', ['[::1]:3000']],
  ['[::1]', ['[::1]:3001']],
  ['[fe80::1]:0', ['[fe80::1]:0']],
  ['3000,3001', ['127.0.0.1:3000', '127.0.0.1:3001']],
  [
    '3000,[::1]:3000,10.0.0.1:3000,10.0.0.2,10.0.0.3,10.0.0.4',
    [
      '127.0.0.1:3000',
      '[::1]:3000',
      '10.0.0.1:3000',
      '10.0.0.2:3001',
      '10.0.0.3:3001',
      '10.0.0.4:3001',
    ],
  ],
];

for (const [text, expected] of accepted) {
  test(`addresses ${text} are understood`, () => {
    assert.deepEqual(parseAddresses(text).map(addressText), expected);
  });
}

const refused: readonly (readonly [string, RegExp])[] = [
  ['', /^the list of addresses is empty, give 1 to 6$/],
  ['a,b,c', /^"a" is a host name/],
  ['3000,,3002', /^address 2 of 3 is empty$/],
  ['3000,', /^address 2 of 2 is empty$/],
  [',', /^address 1 of 2 is empty$/],
  ['localhost:3000', /^"localhost:3000" is a host name, .* such as 127\.0\.0\.1:3000$/],
  ['host.example:3000', /is a host name/],
  ['65536', /^port 65536 in "65536" is too large, at most 65535$/],
  ['99999999999999999999', /is too large/],
  ['127.0.0.1:65536', /^port 65536 in "127\.0\.0\.1:65536" is too large/],
  ['127.0.0.1:', /^"" in "127\.0\.0\.1:" is not a port/],
  ['127.0.0.1:x', /^"x" in "127\.0\.0\.1:x" is not a port/],
  ['127.0.0.1:-1', /is not a port/],
  ['256.0.0.1:3000', /^"256\.0\.0\.1:3000" is not an address/],
  ['1.2.3:3000', /is not an address/],
  [' 3000', /^" 3000" is not an address, write a port, ip, ip:port or \[ipv6\]:port$/],
  ['3000, 3001', /^" 3001" is not an address/],
  ['-1', /is not an address/],
  ['::1', /^"::1" needs brackets, write \[::1\]:3000$/],
  ['[::1', /^"\[::1" has no closing bracket/],
  ['[::1]3000', /^"3000" after the bracket/],
  ['[127.0.0.1]:3000', /is not an IPv6 address$/],
  ['[]:3000', /is not an IPv6 address$/],
  ['3000,3000', /^addresses 1 and 2 are the same: 127\.0\.0\.1:3000$/],
  ['3000,3001,127.0.0.1:3000', /^addresses 1 and 3 are the same/],
  ['0,3000', /^port 0 in "0" is possible for a single address only$/],
  ['1,2,3,4,5,6,7,8,9,10,11,12,13', /^13 addresses given, at most 6 are possible$/],
  ['1,2,3,4,5,6,7', /^7 addresses given/],
  ['30\u000000', /^"30\?00" is not an address/],
];

for (const [text, message] of refused) {
  test(`addresses ${JSON.stringify(text)} are refused in one line`, () => {
    assert.throws(() => parseAddresses(text), { code: 'ERR_ADDRESS_INVALID', message });
  });
}
