import { nodeConfigFile, nodeMark } from '@kubus/launcher';
import type { Command } from 'commander';
import { spawn } from 'node:child_process';
import { inPlaceOf, instanceOf, slotOf } from '../in-place.ts';
import { type NodeLink, connectNode } from '../node-link.ts';
import { requireRoot } from '../require-root.ts';

/** Programs in any language take part in a node: one that follows it, or one in the place of a service. */
export function addReplace(program: Command): void {
  program
    .command('replace')
    .argument('<service>', 'a service, or one of its instances')
    .argument(
      '<command...>',
      'the program, after --; it finds the node’s configuration in KUBUS_CONFIG and its slot in KUBUS_SLOT',
    )
    .description('run a program of your own in the place of a service; pods go on')
    .action(async (service: string, command: string[], _options: object, self: Command) => {
      requireRoot('replace');
      const instance = instanceOf(service);
      await replace(await connectNode(self.optsWithGlobals<{ node: string }>().node), instance, command);
    });
}

async function replace(link: NodeLink, instance: string, [program = '', ...args]: readonly string[]): Promise<void> {
  const code = await inPlaceOf(link, instance, () => {
    console.error(`kubus: ${program} runs in the place of ${instance}`);
    const own = { KUBUS_CONFIG: nodeConfigFile(link.dir), KUBUS_SLOT: slotOf(instance), [nodeMark]: link.dir.root };
    return spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...own } });
  });
  process.exitCode = code ?? 0;
}
