import { nodeConfigFile, nodeMark } from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { runInsteadOf, instanceOf, slotOf } from '../node/run-instead.ts';
import { type NodeLink, connectNode } from '../node/node-link.ts';
import { requireRoot } from '../node/require-root.ts';
import { printError } from '../output/output.ts';

/** `kubus replace`: runs a program in any language instead of a service. */
export function addReplace(program: Command): void {
  program
    .command('replace')
    .argument('<service>', 'a service or instance, such as prober or prober-0')
    .argument(
      '<command...>',
      'the program, after --; KUBUS_CONFIG names the node’s configuration file, KUBUS_SLOT its slot',
    )
    .description('run your own program instead of a service; pods keep running')
    .action(async (service: string, command: string[], _options: object, self: Command) => {
      requireRoot('replace');
      const instance = instanceOf(service);
      await replace(await connectNode(self.optsWithGlobals<{ node: string }>().node), instance, command);
    });
}

async function replace(link: NodeLink, instance: string, [program = '', ...args]: readonly string[]): Promise<void> {
  const code = await runInsteadOf(link, instance, () => {
    printError(`kubus: ${program} runs instead of ${instance}`);
    const own = { KUBUS_CONFIG: nodeConfigFile(link.dir), KUBUS_SLOT: slotOf(instance), [nodeMark]: link.dir.root };
    return spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...own } });
  });
  process.exitCode = code ?? 0;
}
