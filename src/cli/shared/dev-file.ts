/** What to do when `dev` finds one file of its cluster lost or damaged beside others. */
import { relative } from 'node:path';
import { type DevFiles, devFile } from '../../lab/dev-cluster.ts';
import { exampleAddresses } from '../replicas.ts';

export interface LostFile {
  /** Whose file it is. */
  readonly replica: number;
  /** It is there, and in the way. */
  readonly isDamaged: boolean;
  readonly directory: string;
  /** As typed, for the advice. */
  readonly folder: string;
  readonly port: number;
}

/**
 * Ends the line: how the others make it again, or what is left when they are too few; `null` for
 * the damaged file of a single replica.
 */
export function lostFileNext(lost: LostFile, files: DevFiles): string | null {
  const { replica, isDamaged, directory, folder, port } = lost;
  const others = files.intact.filter((one) => one !== replica);
  const replicaCount = files.replicaCount ?? 1;
  if (isDamaged && replicaCount === 1) return null;
  if (replicaCount < 3 || others.length * 2 <= replicaCount) {
    return (
      'the others are too few to make it again; put back only the file itself or a copy made ' +
      'after its replica had stopped for the last time, or begin anew beside it: ' +
      `roundelay dev --directory=${folder}.new`
    );
  }
  const path = (one: number): string => relative(process.cwd(), devFile(directory, one));
  const addresses = `--addresses=${exampleAddresses(replicaCount, port)}`;
  const starts = others.map((one) => `roundelay start ${addresses} ${path(one)}`);
  const aside = isDamaged ? `mv ${path(replica)} ${path(replica)}.damaged && ` : '';
  return (
    `put no old copy back; run the others (${starts.join(' and ')}), have them make it again, ` +
    `then end them and start dev anew: ${aside}roundelay recover --cluster=0 ` +
    `--replica=${replica} --replica-count=${replicaCount} ${addresses} ${path(replica)}`
  );
}
