/**
 * Speed of each checksum implementation: `node bench/checksum.ts [--json]`. Figures are process CPU
 * time, second best of seven repetitions, since wall clock on a shared machine varies twofold.
 * Input lies in the memory the checksum was made with, as messages do; `copied` lies outside of it.
 * One more line says what starting costs: emitting, compiling and proving the module, wall clock.
 */
import { Prng } from '../src/stdx/index.ts';
import { type Checksum, createChecksum, MessagePool } from '../src/wire/index.ts';

const KINDS = ['simd', 'scalar', 'typescript'] as const;
const SIZES = [256, 131_072, 1_048_576] as const;
const REPETITIONS = 7;
/** Bytes digested in one repetition. */
const VOLUME = 32_000_000;

interface Row {
  readonly kind: string;
  readonly sizeBytes: number;
  readonly gigabytesPerSecond: number;
  readonly microseconds: number;
}

function measure(checksum: Checksum, bytes: Uint8Array, sizeBytes: number): Row {
  const target = new Uint8Array(16);
  const count = Math.ceil(VOLUME / sizeBytes);
  const times: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const start = process.cpuUsage();
    for (let i = 0; i < count; i++) checksum.digest(bytes, 0, sizeBytes, target, 0);
    const spent = process.cpuUsage(start);
    times.push((spent.user + spent.system) / count);
  }
  const microseconds = times.sort((a, b) => a - b)[1] as number;
  const gigabytesPerSecond = sizeBytes / microseconds / 1000;
  return { kind: checksum.kind, sizeBytes, gigabytesPerSecond, microseconds };
}

function works(kind: Checksum['kind']): boolean {
  try {
    return createChecksum({ kind }).kind === kind;
  } catch {
    return false;
  }
}

const start = performance.now();
const first = createChecksum();
const startMs = performance.now() - start;

const rows: Row[] = [];
for (const checksumKind of KINDS.filter(works)) {
  const pool = new MessagePool({
    requestSlotSize: 1_048_576,
    requestSlots: 1,
    replySlots: 0,
    smallSlots: 0,
    checksumKind,
  });
  const message = pool.acquire('request');
  if (message === null) throw new Error('the pool is empty');
  new Prng(1).fill(message.bytes);
  for (const size of SIZES) rows.push(measure(pool.checksum, message.bytes, size));
  if (checksumKind !== 'simd') continue;
  const outside = message.bytes.slice();
  for (const size of SIZES) {
    rows.push({ ...measure(pool.checksum, outside, size), kind: 'simd copied' });
  }
}

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ node: process.version, chosen: first.kind, startMs, rows }));
} else {
  console.log(
    `Node ${process.version}; chosen here: ${first.kind}, ready in ${startMs.toFixed(1)} ms`,
  );
  console.log('kind           bytes      GB/s        µs');
  for (const row of rows) {
    const speed = row.gigabytesPerSecond.toFixed(2);
    const time = row.microseconds.toFixed(2);
    const size = String(row.sizeBytes);
    console.log(
      `${row.kind.padEnd(11)}${size.padStart(9)}${speed.padStart(10)}${time.padStart(10)}`,
    );
  }
}
