/**
 * What this machine can do, measured in the same run as a benchmark, so that figures from two
 * machines (or two hours on one) can be compared: a loopback round trip, a durable write, the
 * checksum, and a memory load that misses the caches. About a third of a second in all.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  openSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { assert } from '../stdx/index.ts';
import { MessagePool } from '../wire/index.ts';
import { folderError } from './errors.ts';
import { median } from './percentile.ts';

export interface Calibration {
  readonly cpuCount: number;
  /** Of the folder that holds the data files (or would). */
  readonly fileSystem: string;
  readonly nodeVersion: string;
  /** One byte there and back over loopback TCP, median, microseconds. */
  readonly loopbackUs: number;
  /** 128 KiB, durable on return, overwriting, median, microseconds. */
  readonly durableWriteUs: number;
  readonly checksumKind: string;
  /** Over blocks of 128 KiB, megabytes (10^6) per second. */
  readonly checksumMBps: number;
  /** One load that depends on the last one, in 64 MiB, nanoseconds. */
  readonly dependentLoadNs: number;
}

const BLOCK_SIZE = 131_072;

/**
 * Measures everything; `directory` is where the durable writes go.
 * @throws RoundelayError when that folder cannot be written
 */
export async function calibrate(directory: string): Promise<Calibration> {
  const durableWriteUs = inFolder(directory, () => measureDurableWrite(directory, 40));
  const checksum = measureChecksum();
  return {
    cpuCount: availableParallelism(),
    fileSystem: fileSystemName(directory),
    nodeVersion: process.version,
    loopbackUs: round(await measureLoopback(300)),
    durableWriteUs: round(durableWriteUs),
    checksumKind: checksum.kind,
    checksumMBps: Math.round(checksum.megabytesPerSecond),
    dependentLoadNs: round(measureDependentLoad()),
  };
}

function inFolder<T>(directory: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw folderError(error, directory);
  }
}

/** The calibration as one line for people. */
export function calibrationLine(calibration: Calibration): string {
  const { cpuCount, fileSystem, nodeVersion, checksumKind } = calibration;
  return [
    `calibration: ${cpuCount} CPUs, ${fileSystem}, Node ${nodeVersion}`,
    `loopback ${calibration.loopbackUs} us`,
    `128 KiB durable write ${calibration.durableWriteUs} us`,
    `checksum ${calibration.checksumMBps} MB/s (${checksumKind})`,
    `dependent load ${calibration.dependentLoadNs} ns`,
  ].join(', ');
}

/** Name of the file system behind a folder, or its magic number. */
export function fileSystemName(directory: string): string {
  const { type } = statfsSync(directory);
  return fileSystems.get(type) ?? `0x${type.toString(16)}`;
}

const fileSystems = new Map<number, string>([
  [0xef53, 'ext4'],
  [0x5846_5342, 'xfs'],
  [0x9123_683e, 'btrfs'],
  [0x0102_1994, 'tmpfs'],
  [0x794c_7630, 'overlay'],
  [0x2fc1_2fc1, 'zfs'],
  [0x6969, 'nfs'],
  [0xf2f5_2010, 'f2fs'],
]);

function measureLoopback(rounds: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const samples: number[] = [];
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => socket.write(chunk));
    });
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let startMs = 0;
      const ping = (): void => {
        startMs = performance.now();
        socket.write('x');
      };
      socket.on('error', reject);
      socket.on('connect', ping);
      socket.on('data', () => {
        samples.push(1000 * (performance.now() - startMs));
        if (samples.length < rounds) return ping();
        socket.destroy();
        server.close();
        resolve(median(samples.slice(samples.length >> 1)));
      });
    });
  });
}

function measureDurableWrite(directory: string, rounds: number): number {
  const path = join(directory, `.calibration-${process.pid}`);
  const dsync = constants.O_DSYNC ?? 0;
  const descriptor = openSync(path, constants.O_CREAT | constants.O_WRONLY | dsync, 0o600);
  try {
    const block = new Uint8Array(BLOCK_SIZE).fill(1);
    const samples: number[] = [];
    // The first pass grows the file, which costs more than overwriting and is not counted.
    for (let i = 0; i < 2 * rounds; i++) {
      const startMs = performance.now();
      writeSync(descriptor, block, 0, BLOCK_SIZE, (i % rounds) * BLOCK_SIZE);
      if (dsync === 0) fdatasyncSync(descriptor);
      if (i >= rounds) samples.push(1000 * (performance.now() - startMs));
    }
    return median(samples);
  } finally {
    closeSync(descriptor);
    unlinkSync(path);
  }
}

function measureChecksum(): { kind: string; megabytesPerSecond: number } {
  const sizes = { requestSlotSize: BLOCK_SIZE, requestSlots: 1, replySlots: 0, smallSlots: 0 };
  const { checksum, bytes: block } = slotOf(new MessagePool(sizes));
  block.fill(7);
  const mac = new Uint8Array(16);
  const samples: number[] = [];
  const endMs = performance.now() + 80;
  while (performance.now() < endMs || samples.length < 5) {
    const startMs = performance.now();
    for (let i = 0; i < 8; i++) checksum.digest(block, 0, BLOCK_SIZE, mac, 0);
    samples.push((8 * BLOCK_SIZE) / 1000 / (performance.now() - startMs));
  }
  return { kind: checksum.kind, megabytesPerSecond: median(samples) };
}

function slotOf(pool: MessagePool): { checksum: MessagePool['checksum']; bytes: Uint8Array } {
  const message = pool.acquire('request');
  assert(message !== null, 'calibration: no slot');
  return { checksum: pool.checksum, bytes: message.bytes };
}

/** Follows a full cycle through 2^24 words in pseudo-random order: each load waits for the last. */
function measureDependentLoad(): number {
  const mask = (1 << 24) - 1;
  const next = new Uint32Array(mask + 1);
  // A full-period congruential step: multiplier 1 mod 4, odd increment.
  for (let i = 0; i <= mask; i++) next[i] = (Math.imul(i, 1_664_525) + 1_013_904_223) & mask;
  let index = 0;
  const loads = 300_000;
  const startMs = performance.now();
  for (let i = 0; i < loads; i++) index = next[index];
  const elapsedNs = 1_000_000 * (performance.now() - startMs);
  // Uses the result, or the compiler could drop the loop.
  return elapsedNs / (loads + (index > mask ? 1 : 0));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
