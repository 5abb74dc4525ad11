/**
 * Why a client could not connect, in one sentence: nobody listens, the cluster id is wrong, or
 * something is there but does not answer. A program that only waits cannot tell these apart.
 */
import { type Address, addressText } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { ClientErrorCode, LedgerClientError } from './errors.ts';
import type { LinkProblem } from './transport.ts';

/** What is to be connected to, and what was seen of it within `timeoutMs`. */
export interface ConnectAttempt {
  readonly addresses: readonly Address[];
  /** One for each address. */
  readonly problems: readonly (LinkProblem | null)[];
  readonly cluster: bigint;
  readonly timeoutMs: number;
  /** What should be there, for people. */
  readonly what: 'ledger' | 'replica';
}

/** Code and text for a connect that got no session in time. */
export interface ConnectProblem {
  readonly code: ClientErrorCode;
  readonly message: string;
}

/** The error for a ledger that could not be connected to within `timeoutMs`. */
export function connectError(
  addresses: readonly Address[],
  problems: readonly (LinkProblem | null)[],
  cluster: bigint,
  timeoutMs: number,
): LedgerClientError {
  const attempt = { addresses, problems, cluster, timeoutMs, what: 'ledger' } as const;
  const { code, message } = connectProblem(attempt);
  return new LedgerClientError(code, message);
}

export function connectProblem(attempt: ConnectAttempt): ConnectProblem {
  const { addresses, problems, cluster, timeoutMs, what } = attempt;
  assert(addresses.length === problems.length, 'connectProblem: one problem per address');
  const list = addresses.map(addressText).join(', ');
  for (const [index, problem] of problems.entries()) {
    const address = addressText(addresses[index]);
    if (problem?.kind === 'cluster') {
      const theirs = clusterId(problem.cluster);
      return {
        code: ClientErrorCode.connectCluster,
        message: `the ${what} at ${address} is cluster ${theirs}, not ${cluster}`,
      };
    }
    if (problem?.kind === 'foreign') {
      return {
        code: ClientErrorCode.protocol,
        message: `what listens at ${address} is not a ${what} (${problem.error})`,
      };
    }
  }
  if (problems.some((problem) => problem?.kind === 'silent-close')) {
    return {
      code: ClientErrorCode.connectCluster,
      message:
        `${list} accepts connections but closes them unanswered: ` +
        `is it cluster ${cluster}, or has it too many connections?`,
    };
  }
  if (problems.every((problem) => problem?.kind === 'refused')) {
    return {
      code: ClientErrorCode.connectRefused,
      message: `nobody listens at ${list} (tried for ${timeoutMs} ms)`,
    };
  }
  const unreachable = problems.find((problem) => problem?.kind === 'unreachable');
  const detail = unreachable?.kind === 'unreachable' ? ` (${unreachable.code})` : '';
  return {
    code: ClientErrorCode.connectTimeout,
    message: `no primary answered at ${list} within ${timeoutMs} ms${detail}`,
  };
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
