/** Makes a new file with an empty database in it; what exists is never overwritten. */
import {
  acquireDatabaseLock,
  createDataFile,
  DataFileExistsError,
  followLinks,
  isDangling,
  RoundelayError,
} from '../../../io/append-file/index.ts';
import { encodeRecord, type Schema, schemaText } from '../../../ovsdb/index.ts';
import { ioError, lockError } from './file-error.ts';
import { sha1 } from './snapshot-writer.ts';

/** What the umask leaves of it. */
const MODE = 0o660;

/**
 * Creates the file as a whole or not at all. A symbolic link that leads to nothing is followed.
 * @throws OvsdbFileError
 */
export async function createOvsdbFile(name: string, schema: Schema): Promise<void> {
  const lock = await acquireDatabaseLock(name).catch((error: unknown) => {
    throw lockError(name, error);
  });
  try {
    const bytes = encodeRecord('JSON', schemaText(schema), sha1);
    const path = isDangling(name) ? followLinks(name) : name;
    const mode = MODE & ~process.umask();
    const pieces = [{ offset: 0, bytes }];
    await createDataFile({ path, sizeBytes: bytes.length, pieces, mode });
  } catch (error) {
    throw ioError(name, 'create failed', systemErrorOf(error));
  } finally {
    await lock.release();
  }
}

/** What the operating system said, underneath. */
function systemErrorOf(error: unknown): unknown {
  if (error instanceof DataFileExistsError) return 'EEXIST';
  return error instanceof RoundelayError ? (error.cause ?? error) : error;
}
