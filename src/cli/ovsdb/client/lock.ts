/** `lock`, `steal` and `unlock`: ask for a lock and print what happens to it until stopped. */
import { jsonEqual } from '../../../ovsdb/json/value.ts';
import {
  type ClientContext,
  type Command,
  connectionOf,
  type Given,
  printJson,
} from './context.ts';
import { nextMessage } from './monitor.ts';

export type LockMethod = 'lock' | 'steal' | 'unlock';

export const lock: Command = (context, given) => run(context, given, 'lock');
export const steal: Command = (context, given) => run(context, given, 'steal');
export const unlock: Command = (context, given) => run(context, given, 'unlock');

async function run(context: ClientContext, given: Given, method: LockMethod): Promise<void> {
  const rpc = connectionOf(given);
  const control = await context.daemon.start();
  /** Of the request under way; the next one waits for its reply. */
  let id = rpc.request(method, [given.args[0] as string]);
  let asked = true;
  let next: (() => void) | null = null;
  const ask = (name: LockMethod, lockName: string): void => {
    const send = (): void => {
      id = rpc.request(name, [lockName]);
      asked = true;
      next = null;
    };
    if (!asked) send();
    else next ??= send;
  };
  control?.serveLocks(ask);
  for (;;) {
    const message = await nextMessage(rpc);
    if (message.kind === 'reply' && asked && jsonEqual(message.id, id)) {
      printJson(context, message.content);
      asked = false;
      await context.daemon.ready([1]);
      (next as (() => void) | null)?.();
    } else if (message.kind === 'notification') {
      context.output.print(`${message.method}\n`);
      printJson(context, message.params);
    }
  }
}
