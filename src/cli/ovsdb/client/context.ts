/** What every command gets besides its arguments. */
import { glibcErrorText } from '../../../io/append-file/error-text.ts';
import type { Json } from '../../../ovsdb/json/value.ts';
import type { TlsSettings } from '../shared/tls-options.ts';
import { ConnectionEnd, type Reply, type Rpc, type Warn } from './connection/rpc.ts';
import type { DaemonControl } from './daemon-control.ts';
import { fatal } from './fatal.ts';
import { jsonText } from './format/json-text.ts';
import type { TablePrinter, TableStyle } from './format/table.ts';
import type { Output } from './output.ts';

export interface ClientOptions {
  readonly style: TableStyle;
  /** Before each update of a monitor. */
  readonly timestamp: boolean;
  /** Restores in spite of a schema that differs. */
  readonly force: boolean;
  /** Of a cluster only its leader will do. */
  readonly leaderOnly: boolean;
  /** `if available`: asked for, and not needed. */
  readonly dbChangeAware: 'if available' | 'never' | 'required';
  readonly tls: TlsSettings;
}

export interface ClientContext extends ClientOptions {
  readonly output: Output;
  /** The same one at each call; loaded when somebody prints a table. */
  readonly tables: () => Promise<TablePrinter>;
  readonly daemon: DaemonControl;
  /** Lines for the log, at the levels ERR, WARN and INFO. */
  readonly alarm: Warn;
  readonly warn: Warn;
  readonly inform: Warn;
}

export type Command = (context: ClientContext, given: Given) => Promise<void>;

/** What a command was called with. */
export interface Given {
  /** Behind remote and database. */
  readonly args: readonly string[];
  /** Of commands that need a connection. */
  readonly rpc: Rpc | null;
  /** Of commands that need a database. */
  readonly database: string;
}

export function connectionOf({ rpc }: Given): Rpc {
  if (rpc === null) throw new Error('the command was started without a connection');
  return rpc;
}

export function printJson(context: ClientContext, json: Json): void {
  context.output.print(`${jsonText(json, context.style.json)}\n`);
}

/** Ends the program because of an error with a reason of the system's. */
export function fatalReason(text: string, reason: unknown): never {
  return fatal(text, glibcErrorText(reason instanceof ConnectionEnd ? reason.code : reason));
}

/** The result of a request; anything else ends the program. */
export async function ask(
  context: ClientContext,
  rpc: Rpc,
  method: string,
  params: readonly Json[],
): Promise<Json> {
  let reply: Reply;
  try {
    reply = await rpc.transact(method, params);
  } catch (error) {
    if (!(error instanceof ConnectionEnd)) throw error;
    return fatalReason('transaction failed', error);
  }
  if (reply.kind === 'reply') return reply.content;
  return fatal(`transaction returned error: ${jsonText(reply.content, context.style.json)}`);
}
