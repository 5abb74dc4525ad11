/** Recordings taken apart and put together again, and ledgers with something to do. */
import fs from 'node:fs';
import net from 'node:net';
import { connectLedger } from '../../client/index.ts';
import { Ledger } from '../../ledger/index.ts';
import { readU32, writeU32 } from '../../stdx/index.ts';
import { createChecksum } from '../../wire/index.ts';
import { FILE_HEAD_SIZE, payloadSum, RECORD_HEAD_SIZE, RecordKind } from './format.ts';
import { type ReplayOptions, type ReplayReport, replayRecording } from './replay.ts';

export interface Piece {
  /** In the file. */
  readonly offset: number;
  readonly kind: number;
  /** A view of the file. */
  readonly payload: Uint8Array;
}

/** All records of a recording. */
export function piecesOf(bytes: Uint8Array): readonly Piece[] {
  const pieces: Piece[] = [];
  for (let offset = FILE_HEAD_SIZE; offset < bytes.length; ) {
    const start = offset + RECORD_HEAD_SIZE;
    const payload = bytes.subarray(start, start + readU32(bytes, offset));
    pieces.push({ offset, kind: payload[0], payload });
    offset = start + payload.length;
  }
  return pieces;
}

export function stepsOf(bytes: Uint8Array): readonly Piece[] {
  return piecesOf(bytes).filter(({ kind }) => kind === RecordKind.step);
}

/** The checksum that fits what the payload is now. */
export function reseal(bytes: Uint8Array, { offset, payload }: Piece): void {
  writeU32(bytes, offset + 4, payloadSum(payload, checksum));
}

const checksum = createChecksum();

/** Also the machine of the last life. */
export async function replayLedger(
  path: string,
  more: Partial<ReplayOptions> = {},
): Promise<ReplayReport & { readonly machine: Ledger }> {
  const machines: Ledger[] = [];
  const report = await replayRecording({
    path,
    machine: (name, own) => {
      if (name !== 'ledger') return null;
      const made = new Ledger({ checksum: own });
      machines.push(made);
      return made;
    },
    ...more,
  });
  return { ...report, machine: machines.at(-1) as Ledger };
}

/** Two accounts, and so many requests with a transfer each. */
export async function work(
  addresses: readonly number[],
  requests: number,
  first: number,
): Promise<void> {
  const client = await connectLedger({ addresses: addresses.join(',') });
  await client.createAccounts([
    { id: 1n, ledger: 1, code: 1 },
    { id: 2n, ledger: 1, code: 1 },
  ]);
  for (let i = 0; i < requests; i++) {
    const common = { debit_account_id: 1n, credit_account_id: 2n, ledger: 1, code: 1 };
    await client.createTransfers([{ ...common, id: BigInt(first + i), amount: 7n }]);
  }
  client.close();
}

/** Ports that nobody has right now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const address = server.address();
    ports.push(typeof address === 'object' && address !== null ? address.port : 0);
  }
  for (const server of servers) await new Promise((done) => server.close(done));
  return ports;
}

/** A copy of the file, changed. */
export function rewrite(path: string, change: (bytes: Uint8Array) => Uint8Array): string {
  const bytes = new Uint8Array(fs.readFileSync(path));
  const changed = change(bytes);
  const other = `${path}-${copies++}`;
  fs.writeFileSync(other, changed);
  return other;
}

let copies = 0;
