/**
 * Space of the growing area: extents of 256 KiB, each cut into places of one size class (4, 16, 64
 * or 256 KiB), or free. Which places are taken follows from the manifest, so nothing of this is
 * stored. The lowest free place is taken first, which keeps the file short.
 */
import { BLOCK_SIZE_MAX, SECTOR_SIZE } from '../../engine/index.ts';
import { assert } from '../../stdx/index.ts';

/** Sizes of places, bytes. */
export const PLACE_SIZES: readonly number[] = [4096, 16_384, 65_536, BLOCK_SIZE_MAX];
/** Places of the smallest class in an extent: two words of bits. */
const PLACES_MAX: number = BLOCK_SIZE_MAX / SECTOR_SIZE;
assert(PLACES_MAX === 64, 'extents: the bit map has 64 places');

/** Class of an extent of which no place is taken. */
const FREE = -1;

interface Extent {
  /** Index into PLACE_SIZES, or FREE. */
  sizeClass: number;
  /** Places 0–31 and 32–63; a set bit is taken. */
  low: number;
  high: number;
}

export class Extents {
  readonly #base: number;
  readonly #extents: Extent[] = [];
  /** Per class: no extent of that class below this one has a free place. */
  readonly #hints: number[] = PLACE_SIZES.map(() => 0);
  /** No extent below this one is free. */
  #hintFree: number = 0;

  /** `base`: where the growing area begins in the file. */
  constructor(base: number) {
    assert(base % SECTOR_SIZE === 0, 'Extents: base is not aligned');
    this.#base = base;
  }

  /** Extents in use or free again; the file need not be that long. */
  get count(): number {
    return this.#extents.length;
  }

  /** Takes a place for `size` bytes; returns its offset in the file. */
  allocate(size: number): number {
    const sizeClass = classOf(size);
    const places = placesIn(sizeClass);
    // An extent of one place is free or full.
    for (let i = this.#hints[sizeClass]; places > 1 && i < this.#extents.length; i++) {
      const extent = this.#extents[i];
      if (extent.sizeClass !== sizeClass) continue;
      const place = lowestClear(extent);
      if (place < places) {
        this.#hints[sizeClass] = i;
        return this.#take(i, place);
      }
    }
    while (this.#hintFree < this.#extents.length) {
      if (this.#extents[this.#hintFree].sizeClass === FREE) break;
      this.#hintFree++;
    }
    const index = this.#hintFree;
    if (index === this.#extents.length) this.#extents.push({ sizeClass: FREE, low: 0, high: 0 });
    this.#extents[index].sizeClass = sizeClass;
    this.#hints[sizeClass] = index;
    return this.#take(index, 0);
  }

  /** Takes the very place at `offset`, as a manifest has it; `false` if that cannot be. */
  occupy(offset: number, size: number): boolean {
    if (size < 1 || size > BLOCK_SIZE_MAX) return false;
    const distance = offset - this.#base;
    const sizeClass = classOf(size);
    if (distance < 0 || !Number.isSafeInteger(distance)) return false;
    if ((distance % BLOCK_SIZE_MAX) % PLACE_SIZES[sizeClass] !== 0) return false;
    const index = Math.floor(distance / BLOCK_SIZE_MAX);
    while (this.#extents.length <= index) {
      this.#extents.push({ sizeClass: FREE, low: 0, high: 0 });
    }
    const extent = this.#extents[index];
    if (extent.sizeClass === FREE) extent.sizeClass = sizeClass;
    if (extent.sizeClass !== sizeClass) return false;
    const place = (distance % BLOCK_SIZE_MAX) / PLACE_SIZES[sizeClass];
    if (isTaken(extent, place)) return false;
    this.#take(index, place);
    return true;
  }

  /** Gives a place back. */
  free(offset: number, size: number): void {
    const sizeClass = classOf(size);
    const distance = offset - this.#base;
    const index = Math.floor(distance / BLOCK_SIZE_MAX);
    assert(index >= 0 && index < this.#extents.length, 'Extents: not a place');
    const extent = this.#extents[index];
    assert(extent.sizeClass === sizeClass, 'Extents: a place of another class');
    const place = (distance % BLOCK_SIZE_MAX) / PLACE_SIZES[sizeClass];
    assert(Number.isInteger(place) && isTaken(extent, place), 'Extents: freed twice');
    if (place < 32) extent.low = (extent.low & ~(1 << place)) >>> 0;
    else extent.high = (extent.high & ~(1 << (place - 32))) >>> 0;
    this.#hints[sizeClass] = Math.min(this.#hints[sizeClass], index);
    if (extent.low !== 0 || extent.high !== 0) return;
    extent.sizeClass = FREE;
    this.#hintFree = Math.min(this.#hintFree, index);
  }

  #take(index: number, place: number): number {
    const extent = this.#extents[index];
    assert(!isTaken(extent, place), 'Extents: taken twice');
    if (place < 32) extent.low = (extent.low | (1 << place)) >>> 0;
    else extent.high = (extent.high | (1 << (place - 32))) >>> 0;
    return this.#base + index * BLOCK_SIZE_MAX + place * PLACE_SIZES[extent.sizeClass];
  }
}

/** The smallest class that holds `size` bytes. */
function classOf(size: number): number {
  assert(size >= 1 && size <= BLOCK_SIZE_MAX, 'Extents: no place has that size');
  return PLACE_SIZES.findIndex((placeSize) => size <= placeSize);
}

function placesIn(sizeClass: number): number {
  return BLOCK_SIZE_MAX / PLACE_SIZES[sizeClass];
}

function isTaken(extent: Extent, place: number): boolean {
  const word = place < 32 ? extent.low : extent.high;
  return ((word >>> (place & 31)) & 1) === 1;
}

/** The lowest place whose bit is clear; 64 when none is. */
function lowestClear(extent: Extent): number {
  const low = ~extent.low >>> 0;
  if (low !== 0) return 31 - Math.clz32(low & -low);
  const high = ~extent.high >>> 0;
  return high === 0 ? PLACES_MAX : 63 - Math.clz32(high & -high);
}
