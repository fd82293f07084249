import { restartService, serviceInstance } from '@kubus/contracts';
import type { Command } from 'commander';
import { connectNode } from '../node-link.ts';
import { outputOption, printDocument } from '../output.ts';
import { UserError } from '../user-error.ts';

/** How long a service may take until it serves again, in milliseconds. */
const LIMIT_MS = 30_000;

export function addRestart(program: Command): void {
  program
    .command('restart')
    .argument('<service>', 'a service, or one of its instances')
    .description('end a service and wait until it serves again; pods go on')
    .addOption(outputOption())
    .action(async (service: string, options: { output?: 'json' | 'yaml' }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const before = new Map([...(await link.facts(serviceInstance))].map(({ key, value }) => [key, value.epoch]));
      const began = performance.now();
      const { result } = await link.bus.call(restartService, service, {});
      if (result.instances.length === 0) throw new UserError(`no service "${service}" runs on this node`);
      const restarted: { instance: string; seconds: number }[] = [];
      for (const instance of result.instances) {
        await until(link.bus, instance, before.get(instance) ?? 0);
        const seconds = (performance.now() - began) / 1000;
        restarted.push({ instance, seconds });
        if (options.output === undefined) console.log(`${instance} serves again after ${seconds.toFixed(2)} s`);
      }
      if (options.output !== undefined) printDocument(restarted, options.output);
    });
}

function until(
  bus: { onPeer(listener: (service: string, instance: string, epoch: number) => void): void },
  instance: string,
  epoch: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new UserError(`${instance} does not serve again`)), LIMIT_MS);
    bus.onPeer((_service, peer, now) => {
      if (peer !== instance || now <= epoch) return;
      clearTimeout(late);
      resolve();
    });
  });
}
