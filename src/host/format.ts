/**
 * Makes the data file of one replica: everything that is fixed for its whole life is decided here.
 */
import { REPLICAS_MAX } from '../engine/index.ts';
import { createDataFile, DataFileMismatchError, type MemoryFile } from '../io/index.ts';
import { type FormatWrite, fixedSize, formatWrites, RELEASE } from '../vsr/index.ts';
import { createChecksum } from '../wire/index.ts';
import { type ClusterId, clusterBytes, geometryOf } from './options.ts';

export interface FormatLedgerOptions {
  readonly path: string;
  /** Default 0. Clients must name the same. */
  readonly cluster?: ClusterId;
  /** Index of this replica. Default 0. */
  readonly replica?: number;
  /** 1 to 6. Default 1. */
  readonly replicaCount?: number;
  /**
   * The file takes the place of one that was lost: see `recover`. `view`: above every one that the
   * lost file can have taken part in.
   */
  readonly recovered?: { readonly view: number };
  /** A small file and small requests (32 KiB), for laptops and tests. */
  readonly development?: boolean;
}

export interface FormattedFile {
  readonly path: string;
  /** Bytes; the file grows with the data beyond that. */
  readonly sizeBytes: number;
}

/**
 * Creates a data file, readable by its owner only; all of it or nothing.
 * @throws DataFileExistsError, DataFileMissingError (its folder), ReadOnlyError, NoSpaceError,
 *   DataFileMismatchError (a replica that the cluster does not have)
 */
export async function formatLedger(options: FormatLedgerOptions): Promise<FormattedFile> {
  const { path } = options;
  const sizeBytes = fixedSize(geometryOf(options.development ?? false));
  await createDataFile({ path, sizeBytes, pieces: freshFile(options) });
  return { path, sizeBytes };
}

/** The same in memory. */
export function formatMemory(file: MemoryFile, options: Omit<FormatLedgerOptions, 'path'>): void {
  const pieces = freshFile({ ...options, path: 'in memory' });
  for (const { offset, bytes } of pieces) file.put(offset, bytes);
}

function freshFile(options: FormatLedgerOptions): Generator<FormatWrite, void, void> {
  const { path, cluster = 0, replica = 0, replicaCount = 1, development = false } = options;
  const { recovered } = options;
  if (replicaCount < 1 || replicaCount > REPLICAS_MAX || replica < 0 || replica >= replicaCount) {
    throw new DataFileMismatchError(
      'ERR_DATA_FILE_MISMATCH',
      path,
      `replica ${replica} of ${replicaCount} was asked for, ` +
        `a cluster has 1 to ${REPLICAS_MAX} replicas, counted from 0`,
    );
  }
  return formatWrites(
    {
      cluster: clusterBytes(cluster),
      replica,
      replicaCount,
      replicaId: crypto.getRandomValues(new Uint8Array(16)),
      geometry: geometryOf(development),
      release: RELEASE,
      ...(recovered === undefined ? {} : { isRecovered: true, view: recovered.view }),
    },
    createChecksum(),
  );
}
