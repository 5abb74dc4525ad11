/**
 * What clients asked and were told, in words, for the text of a failure; and for the check of
 * linearizability, where a model was given.
 */

import { requestFingerprint } from '../checks/history.ts';
import type { ClientName } from '../checks/session-model.ts';
import type { Testimony } from '../checks/testimony.ts';
import { showBytes } from './text.ts';

/** Requests of each client that are kept. */
const KEPT_MAX = 6;

interface Line {
  readonly fingerprint: string;
  readonly text: string;
  answer: string | null;
}

export interface Request {
  readonly operation: number;
  readonly body: Uint8Array;
}

export class Story implements Testimony {
  readonly #testimony: Testimony | null;
  readonly #describe: (operation: number, reply: Uint8Array) => string;
  /** What requests mean, by fingerprint. */
  readonly #texts: Map<string, string> = new Map();
  readonly #lines: Map<ClientName, Line[]> = new Map();

  constructor(
    testimony: Testimony | null,
    describe: (operation: number, reply: Uint8Array) => string,
  ) {
    this.#testimony = testimony;
    this.#describe = describe;
  }

  /** The workload has made this. */
  learn(request: Request, text: string): void {
    this.#texts.set(fingerprintOf(request), text);
  }

  textOf(request: Request): string {
    const { operation, body } = request;
    const known = this.#texts.get(fingerprintOf(request));
    return known ?? `operation ${operation} ${showBytes(body)}`.trimEnd();
  }

  answerOf(operation: number, reply: Uint8Array): string {
    return this.#describe(operation, reply);
  }

  onRequest(client: ClientName, operation: number, body: Uint8Array): void {
    this.#testimony?.onRequest(client, operation, body);
    const request = { operation, body };
    const lines = this.#lines.get(client) ?? [];
    if (lines.length === KEPT_MAX) lines.shift();
    lines.push({
      fingerprint: fingerprintOf(request),
      text: this.textOf(request),
      answer: null,
    });
    this.#lines.set(client, lines);
  }

  onReply(client: ClientName, operation: number, reply: Uint8Array): void {
    this.#testimony?.onReply(client, operation, reply);
    this.#close(client, this.#describe(operation, reply));
  }

  onAbandon(client: ClientName): void {
    this.#testimony?.onAbandon(client);
    this.#close(client, 'given up');
  }

  problem(): ReturnType<Testimony['problem']> {
    return this.#testimony?.problem() ?? null;
  }

  /** Who asked for that last. */
  clientOf(request: Request): ClientName | null {
    const fingerprint = fingerprintOf(request);
    let found: ClientName | null = null;
    for (const [client, lines] of this.#lines) {
      const isIts = lines.some((line) => line.fingerprint === fingerprint);
      const isOpen = lines.at(-1)?.fingerprint === fingerprint && lines.at(-1)?.answer === null;
      if (isOpen) return client;
      if (isIts) found ??= client;
    }
    return found;
  }

  /** Its last requests, oldest first. */
  lastOf(client: ClientName): readonly string[] {
    const lines = this.#lines.get(client) ?? [];
    return lines.map(({ text, answer }) => `${text} → ${answer ?? 'no answer yet'}`);
  }

  #close(client: ClientName, answer: string): void {
    const open = this.#lines.get(client)?.at(-1);
    if (open !== undefined) open.answer ??= answer;
  }
}

function fingerprintOf({ operation, body }: Request): string {
  return requestFingerprint(operation, body);
}
