/**
 * Comparison of large buffers, four bytes at a time: the simulator compares whatever is written and
 * sent with what it was when it was handed over.
 */
export function sameContent(a: Uint8Array, b: Uint8Array): boolean {
  const { length } = a;
  if (length !== b.length) return false;
  let done = 0;
  if (((a.byteOffset | b.byteOffset) & 3) === 0) {
    const count = length >>> 2;
    const wordsA = new Int32Array(a.buffer, a.byteOffset, count);
    const wordsB = new Int32Array(b.buffer, b.byteOffset, count);
    for (let i = 0; i < count; i++) if (wordsA[i] !== wordsB[i]) return false;
    done = count * 4;
  }
  for (let i = done; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}
