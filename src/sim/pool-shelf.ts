/**
 * Pools that have been put back, for the lives of later runs: each is a large memory of its own,
 * and making one takes longer than many a run.
 */
import { MessagePool, type PoolOptions } from '../wire/index.ts';

/** Of one size. */
const POOLS_MAX = 7;

const shelf: Map<string, MessagePool[]> = new Map();
const keys: WeakMap<MessagePool, string> = new WeakMap();

export function takePool(options: PoolOptions): MessagePool {
  const key = JSON.stringify(options);
  const found = shelf.get(key)?.pop();
  if (found !== undefined) return found;
  const pool = new MessagePool(options);
  keys.set(pool, key);
  return pool;
}

/** Every message has been put back; else nobody takes it again. */
export function putPool(pool: MessagePool): void {
  const key = keys.get(pool) ?? '';
  const pools = shelf.get(key) ?? [];
  if (pools.length < POOLS_MAX && pool.leaked() === 0) pools.push(pool);
  shelf.set(key, pools);
}
