/**
 * `roundelay ovsdb server|tool|client|appctl …`: the programs of Open vSwitch's database by our
 * code. Their arguments, texts and exit codes are theirs, so everything behind the name goes to
 * them untouched.
 */
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';

const programs: { readonly [name: string]: () => Promise<Program> } = {
  server: () => import('./server.ts'),
  tool: () => import('./tool.ts'),
  client: () => import('./client.ts'),
  appctl: () => import('./appctl.ts'),
};

interface Program {
  main(argv: string[]): Promise<number>;
}

/** Runs one of the programs; `null`: that is none of their names. */
export async function runOvsdb(argv: readonly string[]): Promise<number | null> {
  const [name = '', ...rest] = argv;
  if (name === 'path' && rest.length === 0) {
    console.log(fileURLToPath(new URL('../../../bin/ovsdb', import.meta.url)));
    return 0;
  }
  if (!Object.hasOwn(programs, name)) return null;
  const { main } = await programs[name]();
  return await main(rest);
}

/** For `help`: what there is. */
export function define(command: Command): void {
  command
    .description(
      'The database server of Open vSwitch and its tools, compatible with the originals.',
    )
    .usage('server|tool|client|appctl [arguments of the original] | path')
    .addHelpText(
      'after',
      `
Programs:
  server   ovsdb-server: serve databases to clients
  tool     ovsdb-tool: create, convert, look into database files
  client   ovsdb-client: ask a server
  appctl   ovs-appctl: command a running program
  path     print the folder that has them under their own names, for PATH

Each explains itself: roundelay ovsdb server --help`,
    )
    .argument('[program]')
    .action(async (program: string | undefined) => {
      if (program === undefined) command.help();
      const { CliError } = await import('../problem.ts');
      const { ExitCode } = await import('../exit-codes.ts');
      throw new CliError(`there is no ovsdb program "${program}"`, ExitCode.usage);
    });
}
