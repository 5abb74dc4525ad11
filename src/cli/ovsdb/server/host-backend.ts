/** The server that the program drives, told where this program's log and directories are. */
import { OvsdbServer } from '../../../host/ovsdb/ovsdb-server.ts';
import { runDirectory } from '../shared/directories.ts';
import type { Vlog } from '../vlog/vlog.ts';
import type { Backend } from './backend.ts';

export interface BackendOptions {
  readonly vlog: Vlog;
  readonly columnDiff: boolean;
  /** Something in a database has changed. */
  readonly onChange: () => void;
  /** Copying another server's database has ended for good. */
  readonly onReplicationEnd: (name: string) => void;
}

export function createBackend(options: BackendOptions): Backend {
  const { vlog, columnDiff, onChange, onReplicationEnd } = options;
  return new OvsdbServer({
    log: (module, level, text) => vlog.log(module, level, text),
    onCommitted: onChange,
    onReplicationEnd,
    columnDiff,
    runDirectory: runDirectory(),
  });
}
