/** Times as `--timestamp` prints them: UTC, to the millisecond. */
export function timestampText(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('T', ' ').replace('Z', '');
}
