/** Whole notifications (RFC 7047 §4.1.6 and the original's update2 and update3) as text. */

/** Of a monitor: where its notifications go. */
export interface Address {
  readonly version: 1 | 2 | 3;
  /** JSON text of the monitor's id. */
  readonly idText: string;
}

const methods = { 1: 'update', 2: 'update2', 3: 'update3' } as const;

/** `lastTxnId`: of the latest transaction that is in `updates`, or before it. */
export function notification(to: Address, lastTxnId: string, updates: string): string {
  const last = to.version === 3 ? `"${lastTxnId}",` : '';
  const method = methods[to.version];
  return `{"id":null,"method":"${method}","params":[${to.idText},${last}${updates}]}`;
}
