import { scaleService, serviceShare } from '@kubus/contracts';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { connectNode } from '../node-link.ts';
import { outputOption, printDocument } from '../output.ts';
import { UserError } from '../user-error.ts';

/** How long new instances may take until they have their pods, in milliseconds. */
const LIMIT_MS = 30_000;

export function addScale(program: Command): void {
  program
    .command('scale')
    .argument('<service>', 'a service that shares the pods among its instances: pod-workers or prober')
    .argument('<count>', 'how many instances of it are to run', instanceCount)
    .description('run another number of instances of a service, and wait until each has its pods; pods go on')
    .addOption(outputOption())
    .action(async (service: string, count: number, options: { output?: 'json' | 'yaml' }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const { result } = await link.bus.call(scaleService, service, { count });
      const wanted = result.instances.toSorted().join();
      const shared = Promise.withResolvers<undefined>();
      await link.facts(serviceShare, {
        changed: ({ key, value }) => {
          if (key === service && value.instances.join() === wanted) shared.resolve(undefined);
        },
      });
      const late = setTimeout(() => shared.reject(new UserError(`not every instance of ${service} serves`)), LIMIT_MS);
      await shared.promise.finally(() => clearTimeout(late));
      if (options.output !== undefined) printDocument({ service, instances: result.instances }, options.output);
      else console.log(`${service} runs as ${result.instances.join(', ')}`);
    });
}

/** A number of instances, as an argument. */
export function instanceCount(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('a whole number from 1 on is needed');
  return Number(text);
}
