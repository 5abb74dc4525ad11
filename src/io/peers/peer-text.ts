/**
 * The words of peer links: why a connection to a replica did not come about, and why one that
 * claims to be a replica was refused. What is not known is not guessed; what others sent is shown
 * as numbers only.
 */
import type { FramerError } from '../../wire/index.ts';
import { type Address, addressText } from '../address.ts';
import { clusterText, commandText, reasonTexts } from '../client-text.ts';
import type { Hello, PeerIdentity } from './peer-hello.ts';

/** Why a dialled connection ended or did not begin. */
export type DialProblem =
  /** The operating system's code, `ECONNREFUSED` …; may be empty. */
  | { readonly kind: 'system'; readonly code: string }
  /** Closed by the other side. */
  | { readonly kind: 'closed' }
  /** It did not say in time who it is. */
  | { readonly kind: 'no-answer' }
  /** It has said nothing for too long. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'cluster'; readonly cluster: Uint8Array }
  | { readonly kind: 'other-replica'; readonly replica: number; readonly replicaCount: number }
  /** It speaks something else. */
  | { readonly kind: 'foreign'; readonly reason: string; readonly command?: number };

export function framerProblem(error: FramerError): DialProblem {
  if (error.kind === 'cluster') return { kind: 'cluster', cluster: error.cluster };
  const command = 'command' in error ? { command: error.command } : {};
  return { kind: 'foreign', reason: error.kind, ...command };
}

/** Whether the machine is there and nobody on it has this port: proof that the peer is not. */
export function isRefusal(problem: DialProblem): boolean {
  if (problem.kind !== 'system') return false;
  return problem.code === 'ECONNREFUSED' || problem.code === 'ECONNRESET';
}

/** A problem that waiting does not solve: somebody has to change something. */
export function isMisconfigured(problem: DialProblem): boolean {
  return ['cluster', 'other-replica', 'foreign'].includes(problem.kind);
}

/** A few words, for status displays. */
export function problemText(problem: DialProblem): string {
  switch (problem.kind) {
    case 'system':
      return problem.code === '' ? 'socket error' : problem.code;
    case 'closed':
      return 'closed by the other side';
    case 'no-answer':
      return 'no answer';
    case 'silent':
      return 'fell silent';
    case 'cluster':
      return `is of cluster ${clusterText(problem.cluster)}`;
    case 'other-replica':
      return `is replica ${problem.replica} of ${problem.replicaCount}`;
    case 'foreign':
      return `speaks something else (${problem.reason})`;
    default:
      return problem satisfies never;
  }
}

/** The whole line for the log. */
export function dialText(
  own: PeerIdentity,
  replica: number,
  address: Address,
  problem: DialProblem,
): string {
  const where = addressText(address);
  const wanted = `replica ${replica} of ${own.replicaCount}`;
  switch (problem.kind) {
    case 'cluster':
      return (
        `${where} is not ${wanted}: it is of cluster ${clusterText(problem.cluster)}, ` +
        `this is cluster ${clusterText(own.cluster)}`
      );
    case 'other-replica':
      return (
        `${where} is not ${wanted}, replica ${problem.replica} of ${problem.replicaCount} ` +
        'answers there: compare the --addresses of both'
      );
    case 'foreign': {
      const command = problem.command === undefined ? '' : ` (${commandText(problem.command)})`;
      return `${where} does not behave like ${wanted}: ${foreignText(problem.reason)}${command}`;
    }
    default:
      return `${wanted} at ${where} cannot be reached, trying again: ${problemText(problem)}`;
  }
}

function foreignText(reason: string): string {
  if (reason === 'no-hello') return 'it does not say who it is';
  return Object.entries(reasonTexts).find(([kind]) => kind === reason)?.[1] ?? reason;
}

/** What is wrong with a hello, or `null`; the words of {@link refusalText}. */
export function helloProblem(own: PeerIdentity, hello: Hello): string | null {
  const { replica, replicaCount, target, engine } = hello;
  const { engine: ownEngine = 'vsr' } = own;
  if (engine !== ownEngine) {
    return `it runs ${engine}, this replica ${ownEngine}: all of a cluster run the same engine`;
  }
  if (replicaCount !== own.replicaCount) {
    return `it says ${replicaCount} replicas, there are ${own.replicaCount}`;
  }
  if (replica >= own.replicaCount) {
    return `it says it is replica ${replica}, there are ${own.replicaCount}`;
  }
  if (replica === own.replica) return `it says it is replica ${replica}, as is this one`;
  if (target !== own.replica) {
    return (
      `replica ${replica} looks for replica ${target} here, this is replica ${own.replica}: ` +
      'compare the --addresses of both'
    );
  }
  return null;
}

export function refusalText(peer: string, problem: string): string {
  return `connection between replicas from ${peer} refused: ${problem}`;
}
