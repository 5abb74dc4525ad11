/** Where clients connect to, as users say it. */
import { type Address, AddressError, parseAddresses } from '../io/index.ts';

/** All replicas, in order: `3000`, `'127.0.0.1:3000'`, `'3001,3002,3003'`, or a list of these. */
export type Targets = number | string | readonly (number | string)[];

/**
 * `max`: as many as the largest cluster has.
 * @throws AddressError
 */
export function parseTargets(targets: Targets, max?: number): Address[] {
  const text = typeof targets === 'object' ? targets.join(',') : String(targets);
  const addresses = parseAddresses(text, max);
  if (addresses.some((address) => address.port === 0)) {
    throw new AddressError('port 0 cannot be connected to');
  }
  return addresses;
}
