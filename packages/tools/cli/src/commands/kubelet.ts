import { nodeProgram, nodeProgramEnv } from '@kubus/launcher';
import type { Command } from 'commander';
import { join } from 'node:path';
import { checkout } from '../nats-option.ts';
import { UserError } from '../user-error.ts';

/** `kubus kubelet`: takes the reference kubelet's flags, so commander passes all of them on unparsed. */
export function addKubelet(program: Command): void {
  program
    .command('kubelet')
    .description('run as the node agent of this machine with the flags and files of the kubelet (see kubelet --help)')
    .usage('[flags]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument('[flags...]')
    .action((flags: string[]) => {
      becomeKubelet(flags);
    });
}

/** Replaces this process by the agent (execve): a service manager such as systemd follows the process that it has started. */
function becomeKubelet(flags: readonly string[]): void {
  if (process.execve === undefined)
    throw new UserError(`kubus kubelet needs Node.js 22.15 or newer, this is ${process.version}: install a newer one`);
  const agent = join(checkout, 'packages/tools/launcher/dist/kubelet.mjs');
  const [file, ...args] = nodeProgram(agent, [checkout, ...flags]);
  process.execve(file, [file, ...args], { ...process.env, ...nodeProgramEnv });
}
