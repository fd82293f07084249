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
  'node-agent',
  'sync-loop',
  'config-sources',
  'node-api',
] as const satisfies readonly ServiceName[];

/** Those of a node that is a member of a cluster, besides. */
export const clusterServices = ['object-cache', 'status-manager'] as const satisfies readonly ServiceName[];

/** Those that a node has when it is asked for. */
export const optionalServices = ['observatory'] as const satisfies readonly ServiceName[];

/** All that a node can have. */
export const everyService: readonly ServiceName[] = [...nodeServices, ...clusterServices, ...optionalServices];

/** What decides which processes a node has. */
export interface NodeShape {
  /** The first instance of every service runs in one process. */
  readonly hosted: boolean;
  readonly instances: InstanceCounts;
  /** The node's credentials for its API server; undefined: it is a member of no cluster. */
  readonly kubeconfig?: string | undefined;
  /** The node records itself. */
  readonly observatory?: boolean | undefined;
}

/** What decides which services a node has. */
type ServiceShape = Pick<NodeShape, 'kubeconfig' | 'observatory'>;

/** The services of that node. */
export function servicesOf(node: ServiceShape): readonly ServiceName[] {
  return [...hostedServices(node), ...(node.observatory === true ? optionalServices : [])];
}

/** Those of them that one process can run. What looks at a node has a process of its own, so that it disturbs nothing. */
function hostedServices({ kubeconfig }: ServiceShape): readonly ServiceName[] {
  return [...nodeServices, ...(kubeconfig === undefined ? [] : clusterServices)];
}

/** The process that runs the first instance of every service of a hosted node. */
export const hostProcess = 'services';

/** The instances of services that one process of the node runs. */
export function instancesIn(process: string, node: ServiceShape): readonly string[] {
  return process === hostProcess ? firstInstances(node) : [process];
}

/** Whether a process of that name runs services. */
export function runsServices(process: string): boolean {
  return process === hostProcess || /-\d+$/.test(process);
}

/** The processes that run the services of a node. */
export function serviceProcesses(node: NodeShape): string[] {
  const each = servicesOf(node).flatMap((service) => instancesOf(service, node.instances));
  if (!node.hosted) return each;
  const hosted = firstInstances(node);
  return [hostProcess, ...each.filter((instance) => !hosted.includes(instance))];
}

/** Throws LauncherError `Hosted` when what is named has no process of its own. */
export function checkOwnProcess(named: string, node: NodeShape): void {
  const instance = /-\d+$/.test(named) ? named : `${named}-0`;
  if (!node.hosted || !firstInstances(node).includes(instance)) return;
  const message = `${named} runs in one process with all services of the node: "${hostProcess}" is its name`;
  throw new LauncherError('Hosted', message, { context: { instance } });
}

function firstInstances(node: ServiceShape): string[] {
  return hostedServices(node).map((service) => `${service}-0`);
}
