/** Bytes as text with one character a byte, for whatever counts or cuts bytes. */
export function bytesAsText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
