/** vlog: the log of the ovsdb programs (`Vlog`), its commands, and the limit of a kind of line. */
export { registerVlogCommands } from './commands.ts';
export { RateLimit } from './rate-limit.ts';
export { type Destination, type Level, levels, Vlog } from './vlog.ts';
