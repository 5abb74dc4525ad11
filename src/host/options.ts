/** What the programs that start replicas have in common: names, numbers, small conversions. */
import { RoundelayError } from '../io/index.ts';
import { assert } from '../stdx/index.ts';
import { GEOMETRY_DEFAULT, GEOMETRY_DEVELOPMENT, type Geometry } from '../vsr/index.ts';

/** An option that makes no sense. */
export class OptionError extends RoundelayError {
  override readonly name: string = 'OptionError';
  /** Name of the option. */
  readonly option: string;

  constructor(option: string, value: unknown, wanted: string) {
    super('ERR_OPTION_INVALID', `option ${option} is ${String(value)}, ${wanted}`);
    this.option = option;
  }
}

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
