/**
 * The arithmetic of mutations (RFC 7047 §5.1, <mutator>): integers of 64 bits with overflow as an
 * error, division that truncates towards zero, reals that must stay finite.
 */
import { INT64_MIN, type Integer, integerOf } from '../json/value.ts';

export type ArithmeticMutator = '+=' | '-=' | '*=' | '/=' | '%=';

/** 'domain': division by zero. 'range': the result does not fit. */
export type ArithmeticProblem = 'domain' | 'range';

export function mutateInteger(
  a: Integer,
  mutator: ArithmeticMutator,
  b: Integer,
): Integer | ArithmeticProblem {
  if ((mutator === '/=' || mutator === '%=') && b === 0) return 'domain';
  if (typeof a === 'number' && typeof b === 'number') {
    const result = safeResult(a, mutator, b);
    // + 0: the remainder of a negative number may be a negative zero.
    if (Number.isSafeInteger(result)) return result + 0;
  }
  return wideResult(BigInt(a), mutator, BigInt(b));
}

/** Exact whenever it is a safe integer. */
function safeResult(a: number, mutator: ArithmeticMutator, b: number): number {
  switch (mutator) {
    case '+=':
      return a + b;
    case '-=':
      return a - b;
    case '*=':
      return a * b;
    case '/=':
      return (a - (a % b)) / b;
    case '%=':
      return a % b;
  }
}

function wideResult(a: bigint, mutator: ArithmeticMutator, b: bigint): Integer | 'range' {
  // −2^63 / −1 overflows, and so its remainder is refused although it would be 0.
  if ((mutator === '/=' || mutator === '%=') && a === INT64_MIN && b === -1n) return 'range';
  switch (mutator) {
    case '+=':
      return integerOf(a + b) ?? 'range';
    case '-=':
      return integerOf(a - b) ?? 'range';
    case '*=':
      return integerOf(a * b) ?? 'range';
    case '/=':
      return integerOf(a / b) ?? 'range';
    case '%=':
      return integerOf(a % b) ?? 'range';
  }
}

export function mutateReal(
  a: number,
  mutator: Exclude<ArithmeticMutator, '%='>,
  b: number,
): number | ArithmeticProblem {
  if (mutator === '/=' && b === 0) return 'domain';
  const result = realResult(a, mutator, b);
  return Number.isFinite(result) ? result : 'range';
}

function realResult(a: number, mutator: Exclude<ArithmeticMutator, '%='>, b: number): number {
  switch (mutator) {
    case '+=':
      return a + b;
    case '-=':
      return a - b;
    case '*=':
      return a * b;
    case '/=':
      return a / b;
  }
}
