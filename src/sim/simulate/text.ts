/** Values in messages: short, on one line, and never a failure of their own. */

const LENGTH_MAX = 240;
const BYTES_SHOWN_MAX = 32;

export function show(value: unknown): string {
  const text = shown(value);
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX - 1)}…` : text;
}

export function showBytes(bytes: Uint8Array): string {
  const head = [...bytes.subarray(0, BYTES_SHOWN_MAX)];
  const text = head.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return bytes.length > BYTES_SHOWN_MAX ? `${text}… (${bytes.length} bytes)` : text;
}

function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (value === undefined || typeof value === 'function') return String(value);
  try {
    return JSON.stringify(value, (_, inner: unknown) => {
      if (typeof inner === 'bigint') return `${inner}n`;
      if (inner instanceof Map) return { map: [...inner] };
      if (inner instanceof Set) return { set: [...inner] };
      return inner instanceof Uint8Array ? showBytes(inner) : inner;
    });
  } catch {
    return String(value);
  }
}

/** What was thrown, with the first lines of where. */
export function showError(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${show(error)}`;
  const [head = '', ...places] = (error.stack ?? String(error)).split('\n');
  const lines = places.slice(0, 3).map((line) => `\n      ${line.trim()}`);
  return `threw ${head}${lines.join('')}`;
}
