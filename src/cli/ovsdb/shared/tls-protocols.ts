/**
 * `--ssl-protocols`: a list, a range `A-B`, or `A+`. Whatever is written, what is enabled is the
 * range from the lowest to the highest; what cannot be understood changes nothing.
 */
export interface Protocols {
  /** A list of the lowest and the highest, or `A+`; `null`: as if nothing had been said. */
  readonly protocols: string | null;
  /** For the log of module `stream_ssl`. */
  readonly lines: readonly { readonly level: 'DBG' | 'ERR'; readonly text: string }[];
}

/** In their order. */
const versions = ['TLSv1.2', 'TLSv1.3'];

export function readProtocols(given: string | null): Protocols {
  if (given === null) return { protocols: null, lines: [] };
  const orLater = given.endsWith('+');
  const words = orLater ? [given.slice(0, -1)] : wordsOf(given);
  const unknown = words.filter((word) => !versions.includes(word));
  if (words.length === 0) {
    return {
      protocols: null,
      lines: [{ level: 'ERR', text: 'SSL/TLS protocol settings invalid' }],
    };
  }
  if (unknown.length > 0) {
    const texts = unknown.map((word) => `${word}: SSL/TLS protocol not recognized`);
    return { protocols: null, lines: texts.map((text) => ({ level: 'ERR', text })) };
  }
  const places = words.map((word) => versions.indexOf(word));
  const lowest = versions[Math.min(...places)];
  const highest = versions[Math.max(...places)];
  const range = orLater ? `${lowest} or later` : `${lowest} - ${highest}`;
  return {
    protocols: orLater ? `${lowest}+` : `${lowest},${highest}`,
    lines: [{ level: 'DBG', text: `Enabled protocol range: ${range}` }],
  };
}

function wordsOf(given: string): string[] {
  const dash = given.indexOf('-');
  if (dash !== -1) return [given.slice(0, dash), given.slice(dash + 1)];
  return given.split(/[ ,\t]+/).filter((word) => word !== '');
}
