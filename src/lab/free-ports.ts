/** Free ports as the host finds them, with an error of this room. */
import { AddressUnavailableError, freePorts as hostPorts } from '../host/index.ts';
import { TemporaryClusterError } from './errors.ts';

/** Consecutive ports on 127.0.0.1 on which nobody listens now. */
export async function freePorts(count: number): Promise<number[]> {
  try {
    return await hostPorts(count);
  } catch (error) {
    if (!(error instanceof AddressUnavailableError)) throw error;
    throw new TemporaryClusterError('no free ports on 127.0.0.1');
  }
}
