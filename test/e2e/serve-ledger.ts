/**
 * A server for tests, in a process of its own: `serve-ledger.ts {"directory":…}`. Prints its port
 * on standard output, log records as JSON on standard error, and ends on SIGTERM.
 */
import { startLedger } from '../../src/host/index.ts';

const options = JSON.parse(process.argv[2] ?? '{}');
const ledger = await startLedger({
  ...options,
  log: (record) => process.stderr.write(`${JSON.stringify(record)}\n`),
});
process.stdout.write(`${ledger.port}\n`);
process.on('SIGTERM', () => {
  void ledger.close();
});
const error = await ledger.ended;
if (error !== null) throw error;
