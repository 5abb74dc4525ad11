import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** What a fresh process chooses after `mask` has run, and the MAC of 00..20 in a pool's memory. */
function choice(mask: string): string {
  const at = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);
  // Node itself needs WebAssembly to read TypeScript, so one such file is loaded before the mask.
  const script = `
    const { toHex } = await import(${at('../stdx/index.ts')});
    ${mask}
    const { createChecksum, MessagePool } = await import(${at('./index.ts')});
    const slots = { requestSlotSize: 4096, requestSlots: 1, replySlots: 0, smallSlots: 1 };
    const pool = new MessagePool(slots);
    const { bytes } = pool.acquire('small');
    for (let i = 0; i < 33; i++) bytes[i] = i;
    pool.checksum.digest(bytes, 0, 33, bytes, 48);
    console.log(createChecksum().kind, pool.checksum.kind, toHex(bytes.slice(48, 64)));
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(run.status, 0, run.stderr);
  return run.stdout.trim();
}

const MAC = '205dbc4d693090b206092b05c26870c4';

test('the next best kind is chosen where the host refuses the best', () => {
  assert.equal(choice(''), `simd simd ${MAC}`);
  // The relaxed swizzle's code, which no scalar module contains as an instruction.
  const refuseSimd = `
    const { validate } = WebAssembly;
    const relaxed = (bytes) => Buffer.from(bytes).includes(Buffer.from([0xfd, 0x80, 0x02]));
    WebAssembly.validate = (bytes) => !relaxed(bytes) && validate(bytes);
  `;
  assert.equal(choice(refuseSimd), `scalar scalar ${MAC}`);
  assert.equal(choice('WebAssembly.validate = () => false;'), `typescript typescript ${MAC}`);
  assert.equal(choice('delete globalThis.WebAssembly;'), `typescript typescript ${MAC}`);
});

test('an implementation that computes something else is not chosen', () => {
  // Instances whose function does nothing: accepted by the host, caught by the vectors.
  const broken = `
    WebAssembly.Instance = class { exports = { digest() {} } };
  `;
  assert.equal(choice(broken), `typescript typescript ${MAC}`);
});
