import type { ServiceName } from '@kubus/contracts';
import { LauncherError } from './errors.ts';
import { type InstanceCounts, instancesOf } from './identities.ts';

/** The services of a node, in the order in which they are started; none needs another one to be there. */
export const nodeServices = [
  'cni-bridge',
  'cri-bridge',
  'volume-manager',
  'pod-workers',
  'prober',
  'sync-loop',
  'config-sources',
] as const satisfies readonly ServiceName[];

/** The process that runs the first instance of every service of a hosted node. */
export const hostProcess = 'services';

/** The first instance of each service. */
const firstInstances = nodeServices.map((service) => `${service}-0`);

/** The instances of services that one process of the node runs. */
export function instancesIn(process: string): readonly string[] {
  return process === hostProcess ? firstInstances : [process];
}

/** The processes that run the services of a node. */
export function serviceProcesses(node: { readonly hosted: boolean; readonly instances: InstanceCounts }): string[] {
  const each = nodeServices.flatMap((service) => instancesOf(service, node.instances));
  return node.hosted ? [hostProcess, ...each.filter((instance) => !firstInstances.includes(instance))] : each;
}

/** Throws LauncherError `Hosted` when what is named has no process of its own. */
export function checkOwnProcess(named: string, { hosted }: { readonly hosted: boolean }): void {
  const instance = /-\d+$/.test(named) ? named : `${named}-0`;
  if (!hosted || !firstInstances.includes(instance)) return;
  const message = `${named} runs in one process with all services of the node: "${hostProcess}" is its name`;
  throw new LauncherError('Hosted', message, { context: { instance } });
}
