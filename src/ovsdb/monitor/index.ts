/**
 * monitor: what clients that monitor a database are told. Reading order: `monitor-request` (what
 * they ask for), `shape` (monitors that are alike), `chain` (how far each was told), `rendering`
 * (text, written once), `database-monitors`.
 */
export { DatabaseMonitors, type MonitorsOptions } from './database-monitors.ts';
export type { IdTaken, MonitorMethod } from './monitor-request.ts';
export type { Monitor } from './shape.ts';
