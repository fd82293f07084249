import type { Command } from './command.ts';

/**
 * How the long-lived programs of a node are run. The live data of each is a few megabytes; Node's default young generation
 * of three times 16 MiB would fill up with garbage before it is looked at, and without the hint that size counts the old one
 * keeps a third of it as garbage. What is made where much once lived long, as at the start, would be put among the old at once
 * ("pretenuring") and wait there for a collection of everything.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--optimize-for-size',
  '--max-semi-space-size=2',
  '--no-allocation-site-pretenuring',
  '--v8-pool-size=1',
];

/** One arena for all threads: else each of them keeps some megabytes of its own. */
export const nodeProgramEnv: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '1' };

/** The command that runs a bundled program with the present Node. */
export function nodeProgram(program: string, args: readonly string[]): Command {
  return [process.execPath, ...nodeFlags, program, ...args];
}

/**
 * The command that runs services.
 *
 * @param config the node's configuration
 * @param name that of an instance, or of the process of all first ones
 */
export function serviceProgram(program: string, config: string, name: string): Command {
  return nodeProgram(program, ['--config', config, '--slot', /\d+$/.exec(name)?.[0] ?? '0']);
}
