/** Which client is on which connection: each order of hearing and losing that matters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Clients } from './clients.ts';

/** The id of a client: 16 bytes, at an offset as in a header. */
const OFFSET = 8;
function idOf(client: string): Uint8Array {
  return new Uint8Array(OFFSET + 16).fill(client.charCodeAt(0), OFFSET);
}

/**
 * Steps: `A request 1`, `A ping 1` (heard on connection 1) and `forget 1`, each with what hearing
 * means; then where A and B are reached, and on how many connections somebody was heard.
 */
const table = `
  A request 1: ok                                                    A=1 B=- count=1
  A ping 1: ok                                                       A=1 B=- count=1
  A request 1: ok, A ping 1: ok, A request 1: ok                     A=1 B=- count=1
  A request 1: ok, B request 2: ok                                   A=1 B=2 count=2

  A request 1: ok, forget 1                                          A=- B=- count=0
  A request 1: ok, forget 2                                          A=1 B=- count=1
  A request 1: ok, B request 2: ok, forget 1                         A=- B=2 count=1
  forget 1, A request 1: ok                                          A=1 B=- count=1
  A request 1: ok, forget 1, forget 1, A request 2: ok               A=2 B=- count=1

  A request 1: ok, A request 2: ok                                   A=2 B=- count=2
  A request 1: ok, A request 2: ok, forget 1                         A=2 B=- count=1
  A request 1: ok, A request 2: ok, forget 2                         A=- B=- count=1
  A request 1: ok, A request 2: ok, forget 2, A request 1: ok        A=1 B=- count=1
  A request 1: ok, A request 2: ok, A request 1: ok, forget 2        A=1 B=- count=1
  A request 1: ok, A request 2: ok, A request 3: ok, forget 1, forget 2   A=3 B=- count=1
  A ping 1: ok, A request 2: ok, forget 1                            A=2 B=- count=1

  A request 1: ok, A ping 2: moved 1                                 A=2 B=- count=1
  A request 1: ok, A ping 2: moved 1, forget 1                       A=2 B=- count=1
  A request 1: ok, A ping 2: moved 1, forget 2                       A=- B=- count=0
  A ping 1: ok, A ping 2: moved 1, A ping 1: moved 2                 A=1 B=- count=1
  A request 1: ok, A request 2: ok, A ping 2: ok, forget 1           A=2 B=- count=1
  A request 1: ok, A ping 2: moved 1, B request 1: ok, forget 1      A=2 B=- count=1

  A request 1: ok, B request 1: changed                              A=1 B=- count=1
  A request 1: ok, B ping 1: changed                                 A=1 B=- count=1
  A request 1: ok, B request 2: ok, B request 1: changed             A=1 B=2 count=2
  A request 1: ok, B request 1: changed, forget 1, B request 1: ok  A=- B=1 count=1
  A request 1: ok, A request 2: ok, B request 1: changed             A=2 B=- count=2
`;

function run(steps: string): string {
  const clients = new Clients();
  const heard: string[] = [];
  for (const step of steps.split(', ')) {
    const [who, how, where] = step.replace(/:.*/, '').split(' ') as [string, string, string];
    if (who === 'forget') {
      clients.forget(Number(how));
      heard.push(step);
    } else {
      const outcome = clients.hear(Number(where), idOf(who), OFFSET, how === 'ping');
      const from = outcome.kind === 'moved' ? ` ${outcome.from}` : '';
      heard.push(`${who} ${how} ${where}: ${outcome.kind}${from}`);
    }
    clients.invariants();
  }
  const at = (client: string) => clients.connectionOf(idOf(client), OFFSET) ?? '-';
  return `${heard.join(', ')}  A=${at('A')} B=${at('B')} count=${clients.count}`;
}

test('a client is reached where it was last heard, until that connection is gone', () => {
  const rows = table.trim().split(/\n\s*/);
  assert.equal(rows.length, 27);
  for (const row of rows) {
    const [steps, state] = row.split(/ {2,}/) as [string, string];
    assert.equal(run(steps), `${steps}  ${state}`);
  }
});

test('all 16 bytes of a client id count', () => {
  for (let i = 0; i < 16; i++) {
    const clients = new Clients();
    const other = idOf('A');
    other[OFFSET + i] = 0xff;
    clients.hear(1, idOf('A'), OFFSET, false);
    assert.equal(clients.connectionOf(other, OFFSET), null, `byte ${i}`);
    assert.equal(clients.hear(1, other, OFFSET, false).kind, 'changed', `byte ${i}`);
  }
});
