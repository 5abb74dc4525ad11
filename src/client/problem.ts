/**
 * Why a client could not connect, in one sentence: nobody listens, the cluster id is wrong, or
 * something is there but does not answer. A program that only waits cannot tell these apart.
 */
import { type Address, addressText } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { ClientErrorCode, LedgerClientError } from './errors.ts';
import type { LinkProblem } from './transport.ts';

/** The error for a connect that got no session within `timeoutMs`. */
export function connectError(
  addresses: readonly Address[],
  problems: readonly (LinkProblem | null)[],
  cluster: bigint,
  timeoutMs: number,
): LedgerClientError {
  assert(addresses.length === problems.length, 'connectError: one problem per address');
  const list = addresses.map(addressText).join(', ');
  for (const [index, problem] of problems.entries()) {
    const address = addressText(addresses[index]);
    if (problem?.kind === 'cluster') {
      return new LedgerClientError(
        ClientErrorCode.connectCluster,
        `the ledger at ${address} is cluster ${clusterId(problem.cluster)}, not ${cluster}`,
      );
    }
    if (problem?.kind === 'foreign') {
      return new LedgerClientError(
        ClientErrorCode.protocol,
        `what listens at ${address} is not a ledger (${problem.error})`,
      );
    }
  }
  if (problems.some((problem) => problem?.kind === 'silent-close')) {
    return new LedgerClientError(
      ClientErrorCode.connectCluster,
      `${list} accepts connections but closes them unanswered: ` +
        `is it cluster ${cluster}, or has it too many connections?`,
    );
  }
  if (problems.every((problem) => problem?.kind === 'refused')) {
    return new LedgerClientError(
      ClientErrorCode.connectRefused,
      `nobody listens at ${list} (tried for ${timeoutMs} ms)`,
    );
  }
  const unreachable = problems.find((problem) => problem?.kind === 'unreachable');
  const detail = unreachable?.kind === 'unreachable' ? ` (${unreachable.code})` : '';
  return new LedgerClientError(
    ClientErrorCode.connectTimeout,
    `no primary answered at ${list} within ${timeoutMs} ms${detail}`,
  );
}

/** The 16 bytes of a cluster id as the number that people give. */
export function clusterId(bytes: Uint8Array): bigint {
  assert(bytes.length === 16, 'clusterId: not 16 bytes');
  let value = 0n;
  for (let i = 15; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
  return value;
}

/** And back; asserts 0 … 2^128 − 1. */
export function clusterBytes(cluster: bigint): Uint8Array {
  assert(cluster >= 0n && cluster >> 128n === 0n, 'clusterBytes: out of range');
  const bytes = new Uint8Array(16);
  for (let i = 0; i < 16; i++) bytes[i] = Number((cluster >> BigInt(8 * i)) & 0xffn);
  return bytes;
}
