/**
 * What reading large databases leaves in memory, given back: by itself the JavaScript engine does
 * so when it next needs room, which in a quiet server is never, and it keeps a nursery of dozens of
 * megabytes that has grown meanwhile.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Below that it is not worth the pause, which is about 1 ms for each MB. */
const HEAP_SIZE_MIN: number = 32 * 1024 * 1024;

type Collect = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/** Who waited for the server to start is answered first, ms. */
const DELAY_MS = 200;

/** Once, a moment from now; for a process that is a server and nothing else. */
export function collectGarbageSoon(): void {
  if (process.memoryUsage().heapUsed < HEAP_SIZE_MIN) return;
  setTimeout(collectGarbage, DELAY_MS).unref();
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', flavor: 'last-resort' });
}
