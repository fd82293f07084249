import type { Command } from './command.ts';

/**
 * Flags of Node.js for the long-lived programs of a node. The live data of each is a few megabytes; the default young generation of three
 * times 16 MiB would fill up with garbage before it is collected, and without --optimize-for-size a third of the old generation stays
 * garbage. Allocation-site pretenuring would put objects into the old generation directly, where only a full collection frees them.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--optimize-for-size',
  '--max-semi-space-size=2',
  '--no-allocation-site-pretenuring',
  '--v8-pool-size=1',
];

/**
 * The same for a process that several services share: under load its young generation may be larger, and after a while at rest it gives the
 * memory back (`collectAtRest`). With --optimize-for-size it would never grow. V8 takes the last of equal flags.
 */
export const sharedNodeFlags = [...nodeFlags, '--max-semi-space-size=16', '--no-optimize-for-size'];

/**
 * Environment of the same programs. One malloc arena for all threads, since each further one keeps some megabytes. What V8's compiler needs, up to 30 MB in pieces of
 * 8 to 32 KiB, goes back to the kernel as soon as it is freed; in malloc's heap it would stay behind a few small pieces that live longer: with 32 KiB as the limit that
 * heap was 6 MiB larger in each process, and the CPU of a pod the same.
 */
export const nodeProgramEnv: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '8192',
};

/** The command that runs a bundled program with the current Node.js. */
export function nodeProgram(program: string, args: readonly string[]): Command {
  return [process.execPath, ...nodeFlags, program, ...args];
}

/**
 * The command that runs a service, or a process with several.
 *
 * @param config path of the node's configuration file
 * @param name of the process
 * @param services those that share the process
 * @param elsewhere those of them that another process runs at first
 */
export function serviceProgram(
  program: string,
  config: string,
  name: string,
  services: readonly string[] | undefined,
  elsewhere: readonly string[],
): Command {
  const args = ['--config', config, '--slot', /\d+$/.exec(name)?.[0] ?? '0'];
  if (services === undefined) return nodeProgram(program, args);
  const shared = ['--services', services.join(','), '--elsewhere', elsewhere.join(',')];
  return [process.execPath, ...sharedNodeFlags, program, ...args, ...shared];
}

/** Whether a command line is one of {@link serviceProgram}, with whatever program in front that runs it. */
export function runsServiceProgram(argv: readonly string[]): boolean {
  const at = argv.indexOf('--config');
  return at > 0 && argv[at - 1]?.endsWith('/dist/main.mjs') === true && argv[at + 2] === '--slot';
}
