/**
 * What is on a simulated disk, sector by sector, and what a power cut makes of it.
 *
 * A sector has one durable content and the versions that were written since and sit in the drive's
 * cache. While power is on, the newest version is what one reads. A power cut keeps *one* of them,
 * any, independently for each sector: caches write back in no order. A flush, or a durable write,
 * makes the newest one the only one. Sectors that nobody ever wrote read as noise that depends on
 * the seed and on nothing else, so that an engine which trusts them is wrong the same way twice.
 */
import { SECTOR_SIZE } from '../../engine/index.ts';
import { assert, Prng } from '../../stdx/index.ts';

/**
 * How chance falls at a power cut: the oldest version everywhere, the newest everywhere, each
 * sector on its own, or each on its own and one sector of each unfinished write torn.
 */
export type CrashOutcome = 'old' | 'new' | 'mixed' | 'torn';

interface Sector {
  /** `null`: never written durably; noise. */
  durable: Uint8Array | null;
  /** Oldest first. */
  readonly cached: Uint8Array[];
}

/** Bytes of an unfinished write: they may or may not have reached their sectors. */
export interface UnfinishedWrite {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface CrashReport {
  /** Sectors that did not keep their newest version. */
  readonly sectorsLost: number;
  /** Sectors that hold neither an old nor a new version. */
  readonly sectorsTorn: number;
}

/** Ways in which a sector comes out torn. */
const TEARS = ['noise', 'zeros', 'prefix', 'bit'] as const;

export class SectorStore {
  readonly #seed: number;
  readonly #sectors: Map<number, Sector> = new Map();
  /** What was read of sectors that nobody wrote. */
  readonly #noises: Map<number, Uint8Array> = new Map();
  /** Sectors with cached versions; a flush visits these alone. */
  readonly #cachedIndexes: Set<number> = new Set();
  #sizeBytes: number = 0;
  #sizeDurableBytes: number = 0;
  #durableVersion: number = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** End of the highest sector written so far, bytes. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** End of the highest sector that is durable, bytes. */
  get sizeDurableBytes(): number {
    return this.#sizeDurableBytes;
  }

  /** Moves whenever a sector's durable content does. */
  get durableVersion(): number {
    return this.#durableVersion;
  }

  /** As {@link read}, of what every power cut leaves if it leaves nothing newer. */
  readDurable(offset: number, target: Uint8Array): void {
    assert(offset % SECTOR_SIZE === 0, 'SectorStore: unaligned read');
    assert(target.length % SECTOR_SIZE === 0, 'SectorStore: read of part of a sector');
    for (let done = 0; done < target.length; done += SECTOR_SIZE) {
      const index = (offset + done) / SECTOR_SIZE;
      target.set(this.#sectors.get(index)?.durable ?? this.#noise(index), done);
    }
  }

  /** Copies the newest content of [offset, offset + target.length) into `target`. */
  read(offset: number, target: Uint8Array): void {
    assert(offset % SECTOR_SIZE === 0, 'SectorStore: unaligned read');
    assert(target.length % SECTOR_SIZE === 0, 'SectorStore: read of part of a sector');
    for (let done = 0; done < target.length; done += SECTOR_SIZE) {
      target.set(this.#newest((offset + done) / SECTOR_SIZE), done);
    }
  }

  /** What a sector holds now; borrowed, and never to be changed. */
  sector(offset: number): Uint8Array {
    assert(offset % SECTOR_SIZE === 0, 'SectorStore: unaligned read');
    return this.#newest(offset / SECTOR_SIZE);
  }

  /** Stores a finished write; `bytes` belong to the store from now on and never change. */
  write(offset: number, bytes: Uint8Array, durable: boolean): void {
    assert(offset % SECTOR_SIZE === 0, 'SectorStore: unaligned write');
    assert(bytes.length % SECTOR_SIZE === 0, 'SectorStore: write of part of a sector');
    if (durable) this.#durableVersion++;
    for (let done = 0; done < bytes.length; done += SECTOR_SIZE) {
      const index = (offset + done) / SECTOR_SIZE;
      const version = bytes.subarray(done, done + SECTOR_SIZE);
      const sector = this.#sector(index);
      if (durable) {
        sector.durable = version;
        sector.cached.length = 0;
        this.#cachedIndexes.delete(index);
      } else {
        sector.cached.push(version);
        this.#cachedIndexes.add(index);
      }
    }
    this.#sizeBytes = Math.max(this.#sizeBytes, offset + bytes.length);
    if (durable) this.#sizeDurableBytes = Math.max(this.#sizeDurableBytes, offset + bytes.length);
  }

  /**
   * Marks what a flush that begins now covers; the result makes exactly that durable, when called.
   * Writes that finish in between stay in the cache.
   */
  beginFlush(): () => void {
    const covered = [...this.#cachedIndexes].map((index) => {
      return { index, version: this.#newest(index) };
    });
    const sizeBytes = this.#sizeBytes;
    return () => {
      this.#durableVersion++;
      for (const { index, version } of covered) {
        const sector = this.#sector(index);
        const position = sector.cached.indexOf(version);
        // Absent: a durable write has replaced it meanwhile.
        if (position < 0) continue;
        sector.durable = version;
        sector.cached.splice(0, position + 1);
        if (sector.cached.length === 0) this.#cachedIndexes.delete(index);
      }
      this.#sizeDurableBytes = Math.max(this.#sizeDurableBytes, sizeBytes);
    };
  }

  /** Power cut: decides what each sector holds from now on. */
  crash(unfinished: readonly UnfinishedWrite[], outcome: CrashOutcome, prng: Prng): CrashReport {
    let sectorsLost = 0;
    let sectorsTorn = 0;
    this.#durableVersion++;
    for (const { offset, bytes } of unfinished) {
      const count = bytes.length / SECTOR_SIZE;
      const isTorn = outcome === 'torn' || (outcome === 'mixed' && prng.chance(1, 4));
      const torn = isTorn ? prng.below(count) : -1;
      if (isTorn) sectorsTorn++;
      for (let i = 0; i < count; i++) {
        const version = bytes.slice(i * SECTOR_SIZE, (i + 1) * SECTOR_SIZE);
        this.#push(offset / SECTOR_SIZE + i, i === torn, version, prng);
      }
    }
    let sizeBytes = this.#sizeDurableBytes;
    // Ascending order, not order of insertion: the same disk state draws the same chances.
    for (const index of [...this.#cachedIndexes].sort((a, b) => a - b)) {
      const sector = this.#sector(index);
      const versions = [sector.durable, ...sector.cached];
      const kept = chooseVersion(versions.length, outcome, prng);
      if (kept !== versions.length - 1) sectorsLost++;
      if (kept > 0) sizeBytes = Math.max(sizeBytes, (index + 1) * SECTOR_SIZE);
      sector.durable = versions[kept] ?? null;
      sector.cached.length = 0;
    }
    this.#cachedIndexes.clear();
    this.#sizeBytes = sizeBytes;
    this.#sizeDurableBytes = sizeBytes;
    return { sectorsLost, sectorsTorn };
  }

  /** Bit rot: the sector's newest content changes where there is something, durably. */
  corrupt(index: number, prng: Prng): void {
    this.#durableVersion++;
    const sector = this.#sector(index);
    const damaged = tear(new Uint8Array(SECTOR_SIZE), this.#newest(index), prng);
    sector.durable = damaged;
    sector.cached.length = 0;
    this.#cachedIndexes.delete(index);
  }

  /** Adds an unfinished write's sector as one more version, whole or torn. */
  #push(index: number, isTorn: boolean, version: Uint8Array, prng: Prng): void {
    const sector = this.#sector(index);
    if (isTorn) {
      // A torn sector is certain: neither what was there nor what was to come is left.
      sector.durable = tear(this.#newest(index), version, prng);
      sector.cached.length = 0;
      this.#cachedIndexes.delete(index);
      this.#sizeDurableBytes = Math.max(this.#sizeDurableBytes, (index + 1) * SECTOR_SIZE);
      return;
    }
    sector.cached.push(version);
    this.#cachedIndexes.add(index);
  }

  #sector(index: number): Sector {
    let sector = this.#sectors.get(index);
    if (sector === undefined) {
      sector = { durable: null, cached: [] };
      this.#sectors.set(index, sector);
    }
    return sector;
  }

  #newest(index: number): Uint8Array {
    const sector = this.#sectors.get(index);
    return sector?.cached.at(-1) ?? sector?.durable ?? this.#noise(index);
  }

  /** Borrowed; the same each time. */
  #noise(index: number): Uint8Array {
    let bytes = this.#noises.get(index);
    if (bytes === undefined) {
      bytes = new Uint8Array(SECTOR_SIZE);
      new Prng(this.#seed, (0x6e6f6973 ^ index) >>> 0).fill(bytes);
      this.#noises.set(index, bytes);
    }
    return bytes;
  }
}

function chooseVersion(count: number, outcome: CrashOutcome, prng: Prng): number {
  if (outcome === 'old') return 0;
  if (outcome === 'new') return count - 1;
  return prng.below(count);
}

/**
 * Neither old nor new: noise, zeros, the beginning of the new one, or the new one but for a bit.
 * The damage sits where the two differ: a sector is mostly padding, and damage there would show
 * nothing.
 */
function tear(old: Uint8Array, version: Uint8Array, prng: Prng): Uint8Array {
  assert(old.length === SECTOR_SIZE && version.length === SECTOR_SIZE, 'tear: not one sector');
  const torn = version.slice();
  const differences: number[] = [];
  for (let i = 0; i < SECTOR_SIZE; i++) if (old[i] !== version[i]) differences.push(i);
  const position = differences.length === 0 ? prng.below(SECTOR_SIZE) : prng.pick(differences);
  switch (prng.pick(TEARS)) {
    case 'noise':
      prng.fill(torn);
      break;
    case 'zeros':
      torn.fill(0);
      break;
    case 'prefix':
      torn.set(old.subarray(position), position);
      break;
    case 'bit':
      torn[position] ^= 1 << prng.below(8);
      break;
  }
  return torn;
}
