/** The content of a standalone database file. */
import { randomUUID } from 'node:crypto';
import { isError } from '../../../ovsdb/data/error.ts';
import { replayStandalone } from '../../../ovsdb/file/replay.ts';
import type { Schema } from '../../../ovsdb/schema/schema.ts';
import type { Database } from '../../../ovsdb/store/database.ts';
import { fatal } from './fatal.ts';
import { type OpenLog, sha1 } from './read-file.ts';

export interface ReadDatabase {
  readonly database: Database;
  /** Behind the last record that was used, bytes. */
  readonly end: number;
}

/** The whole of a standalone database, read as one of `schema` if that is given. */
export function readDatabase(log: OpenLog, name: string, schema?: Schema): ReadDatabase {
  const steps = replayStandalone({
    source: log.source,
    name,
    sha1,
    uuids: randomUUID,
    ...(schema === undefined ? {} : { schema }),
  });
  for (;;) {
    const step = steps.next();
    if (step.done !== true) continue;
    if (isError(step.value)) return fatal(step.value);
    const { database, end, problem } = step.value;
    // What the checks of a commit refuse was never acknowledged: it and the rest are left out.
    if (problem !== null && problem.kind !== 'commit') return fatal(problem.error);
    return { database, end };
  }
}
