/**
 * replication: databases whose content another server decides. Reading order: `updates` (from what
 * it tells to changes here), `backup` (active-backup replication), `relay`. All of it without
 * sockets or clock: the host connects, and hands on what comes and goes.
 */
export { Backup, type BackupOptions, type BackupState, backupStatus } from './backup.ts';
export type { SourceEffect } from './effects.ts';
export {
  type Exclusions,
  excludedTablesOf,
  formatExclusions,
  parseExclusions,
} from './exclusions.ts';
export { RELAY_GRACE_MS, Relay, type RelayOptions, type RelayState } from './relay.ts';
export { draftOfUpdates, type UpdatesOptions } from './updates.ts';
