/** What has been seen of all replicas so far, by somebody who forgets nothing, and judges. */
import type { VsrFact } from './vsr-live.ts';

export interface VsrWitness {
  /** View → which life of its primary leads it. */
  readonly lives: ReadonlyMap<number, number>;
  /** View and operation → its prepare. */
  readonly prepared: ReadonlyMap<string, string>;
  /** From operation 1 on, as first executed, in which view, and the digest after it if seen. */
  readonly committed: readonly {
    readonly header: string;
    readonly view: number;
    readonly request: string;
    readonly digest: string;
  }[];
}

export const VSR_WITNESS: VsrWitness = { lives: new Map(), prepared: new Map(), committed: [] };

type Committed = VsrWitness['committed'][number];

export function witnessText({ lives, prepared, committed }: VsrWitness): string {
  return JSON.stringify([[...lives].sort(byKey), [...prepared].sort(byKey), committed]);
}

/** After these facts of one step; a text: what is wrong. `isTrusting`: see the scope. */
export function testifyVsr(
  name: string,
  witness: VsrWitness,
  facts: readonly VsrFact[],
  isTrusting: boolean,
): VsrWitness | string {
  const lives = new Map(witness.lives);
  const prepared = new Map(witness.prepared);
  const committed = [...witness.committed];
  for (const fact of facts) {
    let problem: string | null = null;
    switch (fact.type) {
      case 'leads': {
        const isSecond = (lives.get(fact.view) ?? fact.life) !== fact.life;
        if (isSecond && !isTrusting) return `two lives of ${name} lead view ${fact.view}`;
        lives.set(fact.view, fact.life);
        problem = completeness(committed, fact);
        break;
      }
      case 'prepared': {
        const key = `${fact.view} ${fact.op}`;
        const isOther = (prepared.get(key) ?? fact.header) !== fact.header;
        if (isOther) return `two prepares of operation ${fact.op} in view ${fact.view}`;
        prepared.set(key, fact.header);
        break;
      }
      case 'executed':
        problem = execute(committed, fact);
        break;
      case 'answered':
        problem = answer(committed, fact);
        break;
    }
    if (problem !== null) return `${name} ${problem}`;
  }
  return { lives, prepared, committed };
}

/** Everywhere the same, one after another, each request once. */
function execute(committed: Committed[], fact: VsrFact & { type: 'executed' }): string | null {
  const { op, header, digest, view, request } = fact;
  const known = committed[op - 1];
  if (known === undefined) {
    if (op !== committed.length + 1) return `executes ${header} after a gap`;
    const twice = committed.findIndex((other) => other.request === request);
    if (twice >= 0) return `executes request ${request} again, which is operation ${twice + 1}`;
    committed.push({ header, view, request, digest });
    return null;
  }
  if (known.header !== header) return `executes ${header} where ${known.header} was executed`;
  const isSame = known.digest === '' || digest === '' || known.digest === digest;
  if (!isSame) return `comes to another state at operation ${op}`;
  if (known.digest === '') committed[op - 1] = { ...known, digest };
  return null;
}

/** Nothing is acknowledged that is not committed. */
function answer(
  committed: readonly Committed[],
  { op, request }: VsrFact & { type: 'answered' },
): string | null {
  const found = committed[op - 1]?.request;
  if (found === request) return null;
  return `answers request ${request} with operation ${op}, which is ${found ?? 'not executed'}`;
}

/** All that was committed in an older view is in a primary's log. */
function completeness(
  committed: readonly Committed[],
  { view, log }: VsrFact & { readonly type: 'leads' },
): string | null {
  for (let i = 0; i < committed.length; i++) {
    if (committed[i].view >= view) continue;
    const found = log[i] ?? 'nothing';
    if (found === committed[i].header) continue;
    return `leads view ${view} with ${found} where ${committed[i].header} is committed`;
  }
  return null;
}

function byKey<T>(a: readonly [T, unknown], b: readonly [T, unknown]): number {
  return a[0] < b[0] ? -1 : Number(a[0] > b[0]);
}
