/** How much memory there is for this process: that of the machine, or less in a container. */
import { totalmem } from 'node:os';

/** Bytes. */
export function availableMemory(
  constrained: number = process.constrainedMemory(),
  total: number = totalmem(),
): number {
  // Without a limit the answer is 0 or absurdly large, depending on the kernel.
  return constrained > 0 && constrained < total ? constrained : total;
}
