/**
 * Wire transcripts: text files of what sessions send and what every session then hears.
 *
 *     schema JSON               a new server with this database (name D)
 *     s1 open                   a connection
 *     s1 METHOD PARAMS          a request, PARAMS an array; ids count from 1
 *     s1 #ID METHOD PARAMS      with this id
 *     s1 ~METHOD PARAMS         a notification
 *     s1 raw BYTES              a whole message; `\xNN` is a byte
 *     s1 part BYTES             one that may not be whole
 *     s1 finish                 sends no more, until the server closes
 *     s1 await                  until time makes the server say something
 *
 * Below each what sessions heard, one frame a line: `  s2: FRAME`. Frames are canonical: members
 * sorted, UUIDs that the server has drawn numbered as they turn up. What is recorded comes from the
 * original (REWRITE=1). Where ours says something else, lines `  ours s2: FRAME` say it, and a
 * comment above says why.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeUtf8, encodeUtf8, type Json, parseJson } from '../../src/ovsdb/index.ts';
import type { Side } from './sides.ts';
import { notification, Player, request, type Step } from './wire-player.ts';

export const wireTranscriptFolder: string = join(import.meta.dirname, '../fixtures/ovsdb-wire');

export function wireTranscriptNames(): string[] {
  return readdirSync(wireTranscriptFolder).filter((name) => name.endsWith('.txt'));
}

export function wireTranscript(name: string): string {
  return decodeUtf8(readFileSync(join(wireTranscriptFolder, name)));
}

const HEARD = /^ {2}(?!ours )/;
const OURS = /^ {2}ours /;

/** The text with what was heard written anew; lines about ours stay. */
export async function playTranscript(
  text: string,
  start: (schema: string) => Promise<Side>,
): Promise<string> {
  const lines: string[] = [];
  let player: Player | null = null;
  let id = 0;
  const stop = async (): Promise<void> => {
    player?.stop();
    await player?.side.stop();
    player = null;
  };
  try {
    for (const line of text.split('\n')) {
      if (HEARD.test(line)) continue;
      lines.push(line);
      if (line.startsWith('schema ')) {
        await stop();
        player = new Player(await start(line.slice('schema '.length)));
        id = 0;
      } else if (line !== '' && !line.startsWith('#') && !OURS.test(line)) {
        if (player === null) throw new Error('no schema yet');
        const step = stepOf(line, () => ++id);
        const heard = await player.play(step).catch((error) => {
          throw new Error(`${lines.slice(-4).join('\n')}: ${error}`);
        });
        for (const [session, { texts }] of heard) {
          lines.push(...texts.map((frame) => `  ${session}: ${frame}`));
        }
      }
    }
  } finally {
    await stop();
  }
  return lines.join('\n');
}

function stepOf(line: string, nextId: () => number): Step {
  const match = /^(\S+) (?:#(\S+) )?(~?\w+)(?: (.*))?$/.exec(line);
  if (match === null) throw new Error(`not a step: ${line}`);
  const [, session = '', id, verb = '', rest = ''] = match;
  switch (verb) {
    case 'open':
    case 'finish':
    case 'await':
      return { kind: verb, session };
    case 'raw':
      return { kind: 'send', session, bytes: bytesOf(rest) };
    case 'part':
      return { kind: 'fragment', session, bytes: bytesOf(rest) };
    default: {
      const params = jsonOf(rest, line);
      if (verb.startsWith('~')) return notification(session, verb.slice(1), params);
      return request(session, id === undefined ? nextId() : jsonOf(id, line), verb, params);
    }
  }
}

function jsonOf(text: string, line: string): Json {
  const result = parseJson(`[${text}]`);
  if (!result.ok) throw new Error(`${line}: ${result.error}`);
  return (result.value as readonly Json[])[0] as Json;
}

/** `\xNN` is a byte, whatever else UTF-8. */
function bytesOf(text: string): Uint8Array {
  const parts = text.split(/\\x([0-9a-f]{2})/);
  const pieces = parts.map((part, i) =>
    i % 2 === 1 ? Uint8Array.of(Number.parseInt(part, 16)) : encodeUtf8(part),
  );
  return new Uint8Array(Buffer.concat(pieces));
}

/** The transcript as ours should play it: lines about ours in the place of those they correct. */
export function expectedOfOurs(text: string): string {
  const out: string[] = [];
  let block: string[] = [];
  let ours: string[] = [];
  const flush = (): void => {
    const corrected = new Set(ours.map((line) => /^ {2}ours (\S+?):/.exec(line)?.[1]));
    const kept = block.filter((line) => !corrected.has(/^ {2}(\S+?):/.exec(line)?.[1]));
    const said = ours
      .filter((line) => !line.endsWith(': nothing'))
      .map((line) => line.replace('  ours ', '  '));
    out.push(...[...kept, ...said].sort(bySession));
    block = [];
    ours = [];
  };
  for (const line of text.split('\n')) {
    if (OURS.test(line)) ours.push(line);
    else if (HEARD.test(line)) block.push(line);
    else {
      flush();
      out.push(line);
    }
  }
  flush();
  return out.join('\n');
}

/** By the session's name; frames of a session stay in their order. */
function bySession(a: string, b: string): number {
  const [x, y] = [a, b].map((line) => /^ {2}(\S+?):/.exec(line)?.[1] ?? '');
  return (x as string) < (y as string) ? -1 : x === y ? 0 : 1;
}
