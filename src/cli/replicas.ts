/** What commands say about the replicas of a cluster. */

export const REPLICAS_MAX = 6;
/** The port of the first replica in every example, and of `dev`. */
export const PORT_DEFAULT = 3000;

/** `3000,3001,3002`: a list of addresses to show, or for one machine. */
export function exampleAddresses(count: number, port: number = PORT_DEFAULT): string {
  return Array.from({ length: count }, (_, replica) => port + replica).join(',');
}
