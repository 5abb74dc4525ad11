/**
 * The last word on a cluster that nobody uses any more: all replicas have executed and hold the
 * same operations, have given the same answers, and have the same checkpoint with the same state.
 */
import { statesOf, untilAgreed } from '../../src/lab/experiment/index.ts';
import type { TemporaryCluster } from '../../src/lab/index.ts';

export interface SameState {
  /** Until it was so, ms. */
  readonly ms: number;
  readonly commit: number;
  /** Of all operations and their answers. */
  readonly digest: string;
  /** 0: there was none yet. */
  readonly checkpointOp: number;
  /** Of the whole state as of that operation. */
  readonly checkpointRoot: string;
}

const POLL_MS = 20;

/** Rejects when replicas differ, or are not of one mind within `limitMs`. */
export async function untilSameState(
  cluster: TemporaryCluster,
  limitMs: number,
): Promise<SameState> {
  const startMs = performance.now();
  const all = cluster.files.map((_, replica) => replica);
  const agreeMs = await untilAgreed(cluster, all, limitMs);
  if (agreeMs === null) throw new Error(`not agreed in ${limitMs} ms: ${await seen(cluster)}`);
  for (;;) {
    const checkpoints = (await cluster.statuses()).map((one) => checkpointOf(one?.['checkpoint']));
    const first = checkpoints[0] ?? null;
    if (first !== null && checkpoints.every((one) => one?.op === first.op)) {
      const roots = checkpoints.map((one) => `${one?.root} ${one?.id}`);
      if (new Set(roots).size > 1) {
        throw new Error(`checkpoints of op ${first.op} differ: ${roots.join(', ')}`);
      }
      const state = (await statesOf(cluster))[0] ?? null;
      return {
        ms: performance.now() - startMs,
        commit: state?.commitMin ?? 0,
        digest: state?.digest ?? '',
        checkpointOp: first.op,
        checkpointRoot: first.root,
      };
    }
    if (performance.now() - startMs > limitMs) {
      const ops = checkpoints.map((one) => one?.op ?? 'no answer').join(', ');
      throw new Error(`not one checkpoint in ${limitMs} ms: ${ops}`);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

async function seen(cluster: TemporaryCluster): Promise<string> {
  const states = await statesOf(cluster);
  return states.map((one) => (one === null ? 'no answer' : JSON.stringify(one))).join(', ');
}

interface Checkpoint {
  readonly op: number;
  readonly root: string;
  readonly id: string;
}

function checkpointOf(value: unknown): Checkpoint | null {
  if (typeof value !== 'object' || value === null) return null;
  const { op, root, id } = value as Record<string, unknown>;
  return typeof op === 'number' ? { op, root: String(root), id: String(id) } : null;
}
