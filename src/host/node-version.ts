/**
 * The oldest Node that runs this. The command line refuses older ones at its front door; a program
 * that imports the package is told here, and not by whatever an old Node lacks first.
 */
import { RoundelayError } from '../io/index.ts';

/** The same as `engines` in package.json. */
const NODE_MAJOR_MIN = 24;

/** The running Node is too old. */
export class NodeVersionError extends RoundelayError {
  override readonly name: string = 'NodeVersionError';

  constructor(version: string) {
    const message = `roundelay needs Node ${NODE_MAJOR_MIN} or newer, this is Node ${version}`;
    super('ERR_NODE_VERSION', message);
  }
}

/**
 * Returns when `version` (as in `process.versions.node`) is new enough.
 * @throws NodeVersionError
 */
export function requireNode(version: string): void {
  if (!(Number.parseInt(version, 10) >= NODE_MAJOR_MIN)) throw new NodeVersionError(version);
}
