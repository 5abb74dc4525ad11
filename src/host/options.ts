/** What the programs that start replicas have in common: names, numbers, small conversions. */
import { assert } from '../stdx/index.ts';
import { GEOMETRY_DEFAULT, GEOMETRY_DEVELOPMENT, type Geometry } from '../vsr/index.ts';

/** A cluster id as clients give it: a number, or a BigInt below 2^128. */
export type ClusterId = number | bigint;

export function clusterBytes(cluster: ClusterId): Uint8Array {
  const value = BigInt(cluster);
  if (value < 0n || value >= 1n << 128n) {
    throw new RangeError(`cluster ${cluster} is out of range, give 0 to 2^128 − 1`);
  }
  const bytes = new Uint8Array(16);
  for (let i = 0; i < 16; i++) bytes[i] = Number((value >> BigInt(8 * i)) & 0xffn);
  return bytes;
}

export function geometryOf(development: boolean): Geometry {
  return development ? GEOMETRY_DEVELOPMENT : GEOMETRY_DEFAULT;
}

export function isDevelopment(geometry: Geometry): boolean {
  assert(geometry.slots > 0, 'isDevelopment: no geometry');
  return geometry.slotSize <= GEOMETRY_DEVELOPMENT.slotSize;
}
