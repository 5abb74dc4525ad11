/**
 * Transcripts: text files of transactions and the results that they must have. A line `schema JSON`
 * starts a database; `> operations` is a transaction; the line after it its result, sorted members,
 * UUIDs that are not written in the file numbered as they turn up. The results come from the real
 * server: with REWRITE=1 the comparison with it writes them anew, to be read as a diff.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const transcriptFolder: string = join(import.meta.dirname, 'testdata');

export function transcriptNames(): string[] {
  return readdirSync(transcriptFolder).filter((name) => name.endsWith('.txt'));
}

export interface Transcript {
  /** Gives the schema's text; what follows goes to a new database. */
  readonly schema: (text: string) => Promise<void> | void;
  /** Gives operations, separated by commas; returns the result as text. */
  readonly transact: (operations: string) => Promise<string> | string;
}

/** Plays the file and returns it with the results that came: equal to the file when all is well. */
export async function play(
  name: string,
  to: Transcript,
): Promise<{ text: string; played: string }> {
  const text = readFileSync(join(transcriptFolder, name), 'utf8');
  const played: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('schema ')) await to.schema(line.slice('schema '.length));
    const operations = /^>( .*)?$/.exec(line);
    if (operations !== null) played.push(line, await to.transact((operations[1] ?? '').trim()));
    else if (!/^[[{"]/.test(line)) played.push(line);
  }
  return { text, played: played.join('\n') };
}
