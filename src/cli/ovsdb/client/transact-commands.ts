/** `transact` and `query`: a transaction as JSON in, its results as JSON out. */
import { parseJson } from '../../../ovsdb/json/parse.ts';
import { isArray, isObject, type Json, memberOf } from '../../../ovsdb/json/value.ts';
import { openDatabase } from './connection/open-database.ts';
import { ConnectionEnd, type Reply, type Rpc } from './connection/rpc.ts';
import { ask, type ClientContext, type Command, fatalReason, printJson } from './context.ts';
import { fatal } from './fatal.ts';
import { hashedText } from './format/json-text.ts';

export function parseJsonArgument(text: string): Json {
  const json = parseJson(text);
  return json.ok ? json.value : fatal(`"${text}": ${json.error}`);
}

export const transact: Command = async (context, { args }) => {
  const transaction = parseJsonArgument(args[args.length - 1] as string);
  printJson(context, await runTransaction(context, args, transaction));
};

/** The same without an effect: the transaction is aborted at its end. */
export const query: Command = async (context, { args }) => {
  const transaction = parseJsonArgument(args[args.length - 1] as string);
  if (!isArray(transaction)) return fatal('not a valid OVSDB query');
  const result = await runTransaction(context, args, [...transaction, { op: 'abort' }]);
  printJson(context, withoutAbort(result, transaction.length - 1));
};

function withoutAbort(result: Json, abortAt: number): Json {
  if (!isArray(result) || result.length !== abortAt + 1) return result;
  const last = result[abortAt] as Json;
  const aborted = isObject(last) && memberOf(last, 'error') === 'aborted';
  return aborted ? result.slice(0, abortAt) : result;
}

async function runTransaction(
  context: ClientContext,
  args: readonly string[],
  transaction: Json,
): Promise<Json> {
  const [database] = isArray(transaction) ? transaction : [];
  if (!isArray(transaction) || typeof database !== 'string') {
    return fatal('not a valid OVSDB query');
  }
  const { rpc } = await openDatabase(context, 'database', args, 1, database);
  if (context.dbChangeAware === 'required') await setDbChangeAware(context, rpc);
  await context.daemon.detach();
  const result = await ask(context, rpc, 'transact', transaction);
  rpc.close();
  return result;
}

/** Asks to be told of changes of databases instead of being disconnected. */
export async function setDbChangeAware(context: ClientContext, rpc: Rpc): Promise<void> {
  if (context.dbChangeAware === 'never') return;
  let reply: Reply;
  try {
    reply = await rpc.transact('set_db_change_aware', [true]);
  } catch (error) {
    if (!(error instanceof ConnectionEnd)) throw error;
    return fatalReason(`${rpc.name}: error setting db_change_aware`, error);
  }
  if (reply.kind === 'error' && context.dbChangeAware === 'required') {
    fatal(`${rpc.name}: set_db_change_aware failed (${hashedText(reply.content)})`);
  }
}
