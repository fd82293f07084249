import { nodeProgram, nodeProgramEnv } from '@kubus/launcher';
import type { Command } from 'commander';
import { join } from 'node:path';
import { checkout } from '../nats-option.ts';
import { UserError } from '../user-error.ts';

/** `kubus kubelet`: its flags are the reference's, so that commander leaves them to the program that becomes this process. */
export function addKubelet(program: Command): void {
  program
    .command('kubelet')
    .description('run as the node agent of this machine, with the flags and files of the kubelet (see kubelet --help)')
    .usage('[flags]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument('[flags...]')
    .action((flags: string[]) => {
      becomeKubelet(flags);
    });
}

/** The agent takes the place of this process: a service manager that has started it knows no other one. */
function becomeKubelet(flags: readonly string[]): void {
  if (process.execve === undefined) throw new UserError('kubus kubelet needs Node 22.15 or newer');
  const agent = join(checkout, 'packages/launcher/dist/kubelet.mjs');
  const [file, ...args] = nodeProgram(agent, [checkout, ...flags]);
  process.execve(file, [file, ...args], { ...process.env, ...nodeProgramEnv });
}
