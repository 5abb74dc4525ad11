/**
 * Reals as text: 15 significant digits in the shortest of the two C notations ("%.15g"), which is
 * how the original prints every real, in JSON and in messages. Two reals that differ in the 16th
 * digit print alike; clients know.
 */
import { RawJson } from './value.ts';

const SIGNIFICANT_DIGITS = 15;

/** `value` must be finite. */
export function formatReal(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa, power] = value.toExponential(SIGNIFICANT_DIGITS - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < SIGNIFICANT_DIGITS) {
    return withoutTrailingZeros(value.toFixed(SIGNIFICANT_DIGITS - 1 - exponent));
  }
  const digits = String(Math.abs(exponent)).padStart(2, '0');
  return `${withoutTrailingZeros(mantissa)}e${exponent < 0 ? '-' : '+'}${digits}`;
}

function withoutTrailingZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/**
 * A real as a value to be serialised. Most are numbers; one that would be taken for an integer and
 * printed with all its digits, or lose the sign of its zero, goes as text.
 */
export function jsonOfReal(value: number): number | RawJson {
  const ambiguous = Number.isSafeInteger(value) && (Math.abs(value) >= 1e15 || value === 0);
  return ambiguous ? rawReal(value) : value;
}

function rawReal(value: number): number | RawJson {
  return value === 0 && !Object.is(value, -0) ? 0 : new RawJson(formatReal(value));
}
