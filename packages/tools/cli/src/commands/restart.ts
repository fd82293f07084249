import type { Bus } from '@kubus/bus';
import { restartService, serviceInstance } from '@kubus/contracts';
import type { Command } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { connectNode } from '../node/node-link.ts';
import { readiness } from '../node/readiness.ts';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { UserError } from '../user-error.ts';

/** How long a service may take until it is ready again, in milliseconds. */
const LIMIT_MS = 30_000;
/** How often its readiness is looked at, in milliseconds. */
const LOOK_MS = 100;

export function addRestart(program: Command): void {
  program
    .command('restart')
    .argument('<service>', 'a service or instance, such as prober or prober-0')
    .description('restart a service and wait until it is ready again; pods keep running')
    .addOption(outputOption())
    .action(async (service: string, options: { output?: 'json' | 'yaml' }, command: Command) => {
      const link = await connectNode(command.optsWithGlobals<{ node: string }>().node);
      const before = new Map([...(await link.facts(serviceInstance))].map(({ key, value }) => [key, value.epoch]));
      const began = performance.now();
      const { result } = await link.bus.call(restartService, service, {});
      if (result.instances.length === 0)
        throw new UserError(`no service "${service}" runs on this node: "kubus status" lists the services`);
      const restarted: { instance: string; seconds: number }[] = [];
      for (const instance of result.instances) {
        await ready(link.bus, instance, before.get(instance) ?? 0);
        const seconds = (performance.now() - began) / 1000;
        restarted.push({ instance, seconds });
        if (options.output === undefined) print(`${instance} is ready again after ${seconds.toFixed(2)} s`);
      }
      if (options.output !== undefined) printKubusDocument('RestartedInstances', { items: restarted }, options.output);
    });
}

/** Resolves when the instance has started anew and its checks of readiness pass. */
async function ready(bus: Bus, instance: string, epoch: number): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  await started(bus, instance, epoch);
  for (;;) {
    const http = [...bus.peers].find((peer) => peer.instance === instance)?.http;
    const problems = await readiness(http);
    if (problems.length === 0) return;
    if (Date.now() > end) {
      throw new UserError(`${instance} runs, but is not ready after ${LIMIT_MS / 1000} s: ${problems.join('; ')}`);
    }
    await delay(LOOK_MS);
  }
}

function started(bus: Bus, instance: string, epoch: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () =>
        reject(
          new UserError(
            `${instance} has not started after ${LIMIT_MS / 1000} s: see its log in the node's logs folder`,
          ),
        ),
      LIMIT_MS,
    );
    bus.onPeer((_service, peer, now) => {
      if (peer !== instance || now <= epoch) return;
      clearTimeout(late);
      resolve();
    });
  });
}
