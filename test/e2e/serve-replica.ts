/**
 * One replica in a process of its own, for `ReplicaProcesses`:
 * `serve-replica.ts ENGINE MACHINE start --addresses=… [--development] FOLDER/NUMBER`. The number
 * is the replica's. Ends on SIGTERM, and when the process that started it is gone.
 */
import { Socket } from 'node:net';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { startReplica } from '../../src/host/index.ts';
import { machineNamed } from './replica-machines.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    addresses: { type: 'string', default: '' },
    development: { type: 'boolean', default: false },
  },
});
const [engine = '', machine = '', , directory = ''] = positionals;
watchParent();
const replica = await startReplica({
  engine: engine === 'raft' ? 'raft' : 'vsr',
  machine: machineNamed(machine),
  addresses: values.addresses,
  replica: Number(basename(directory)),
  directory,
  development: values.development,
  log: ({ level, event, message }) => {
    if (level !== 'debug') process.stderr.write(`${level} ${event}: ${message}\n`);
  },
});
process.on('SIGTERM', () => void replica.close());
const error = await replica.ended;
if (error !== null) {
  process.stderr.write(`error: ${error.stack ?? error.message}\n`);
  process.exitCode = 1;
}

/** The other end of the pipe is held by the parent alone. */
function watchParent(): void {
  const descriptor = Number(process.env['ROUNDELAY_PARENT_PIPE'] ?? 0);
  if (descriptor === 0) return;
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false });
  pipe.on('error', () => {});
  pipe.on('close', () => process.exit(143));
  pipe.resume();
  pipe.unref();
}
