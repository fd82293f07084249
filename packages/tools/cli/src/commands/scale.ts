import { scaleService, serviceShare } from '@kubus/contracts';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { checkInstances } from '../node/instance-limit.ts';
import { connectNode } from '../node/node-link.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { UserError } from '../user-error.ts';

/** How long new instances may take until they own their pods, in milliseconds. */
const LIMIT_MS = 30_000;

interface ScaleOptions {
  force?: boolean;
  output?: 'json' | 'yaml';
}

export function addScale(program: Command): void {
  program
    .command('scale')
    .argument('<service>', 'a service whose instances share the pods: pod-workers or prober')
    .argument('<count>', 'number of instances', instanceCount)
    .description('change the number of instances of a service and wait until each owns its pods; pods keep running')
    .option('--force', 'also more instances than the cores and the free memory of the machine suggest')
    .addOption(outputOption())
    .action(async (service: string, count: number, options: ScaleOptions, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const present = (await link.facts(serviceShare)).get(service)?.value.instances.length;
      // A service without a share is refused by the launcher.
      if (present !== undefined && count > present && options.force !== true) {
        checkInstances(service, count, 'or more with --force');
      }
      const { result } = await link.bus.call(scaleService, service, { count });
      const wanted = result.instances.toSorted().join();
      const shared = Promise.withResolvers<undefined>();
      await link.facts(serviceShare, {
        changed: ({ key, value }) => {
          if (key === service && value.instances.join() === wanted) shared.resolve(undefined);
        },
      });
      const late = setTimeout(
        () =>
          shared.reject(
            new UserError(`not every instance of ${service} is ready after ${LIMIT_MS / 1000} s: see "kubus status"`),
          ),
        LIMIT_MS,
      );
      await shared.promise.finally(() => clearTimeout(late));
      if (options.output !== undefined)
        printKubusDocument('ServiceInstances', { service, instances: result.instances }, options.output);
      else print(`${service} runs as ${result.instances.join(', ')}`);
    });
}

/** Parses a number of instances. Throws commander's InvalidArgumentError. */
export function instanceCount(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('must be a whole number, 1 or more');
  return Number(text);
}
