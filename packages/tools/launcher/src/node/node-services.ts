import type { ServiceName } from '@kubus/contracts';
import { LauncherError } from '../errors.ts';
import { type InstanceCounts, instancesOf } from '../nats/identities.ts';

/** The services of every node in the order of their start; none requires another one to be running. */
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

/** Additional services of a member of a cluster. */
export const clusterServices = ['object-cache', 'status-manager'] as const satisfies readonly ServiceName[];

/** Services that a node has on request only. */
const optionalServices = ['observatory'] as const satisfies readonly ServiceName[];

/** All services that a node can have. */
export const everyService: readonly ServiceName[] = [...nodeServices, ...clusterServices, ...optionalServices];

/** The settings that decide which processes a node has. */
export interface NodeShape {
  /** The first instance of every service runs in one process. */
  readonly hosted: boolean;
  readonly instances: InstanceCounts;
  /** Path of the node's kubeconfig; undefined: the node is not a member of a cluster. */
  readonly kubeconfig?: string | undefined;
  /** Whether the node has an observatory. Default: false. */
  readonly observatory?: boolean | undefined;
}

/** The settings that decide which services a node has. */
type ServiceShape = Pick<NodeShape, 'kubeconfig' | 'observatory'>;

/** The services of a node with these settings. */
export function servicesOf(node: ServiceShape): readonly ServiceName[] {
  return [...hostedServices(node), ...(node.observatory === true ? optionalServices : [])];
}

/** The services that the host process can run. The observatory always has its own process, so that it does not disturb the others. */
function hostedServices({ kubeconfig }: ServiceShape): readonly ServiceName[] {
  return [...nodeServices, ...(kubeconfig === undefined ? [] : clusterServices)];
}

/** The name of the host process, which runs the first instance of every service of a hosted node. */
export const hostProcess = 'services';

/** The instances that a process of the node runs. */
export function instancesIn(process: string, node: ServiceShape): readonly string[] {
  return process === hostProcess ? firstInstances(node) : [process];
}

/** Whether a process of this name runs services. */
export function runsServices(process: string): boolean {
  return process === hostProcess || /-\d+$/.test(process);
}

/** The names of the processes that run the services of a node. */
export function serviceProcesses(node: NodeShape): string[] {
  const each = servicesOf(node).flatMap((service) => instancesOf(service, node.instances));
  if (!node.hosted) return each;
  const hosted = firstInstances(node);
  return [hostProcess, ...each.filter((instance) => !hosted.includes(instance))];
}

/** Throws LauncherError `Hosted` when the named service or instance runs in the host process. */
export function checkOwnProcess(named: string, node: NodeShape): void {
  const instance = /-\d+$/.test(named) ? named : `${named}-0`;
  if (!node.hosted || !firstInstances(node).includes(instance)) return;
  const message = `${named} has no process of its own on this node (up --hosted): use "${hostProcess}", which means all services`;
  throw new LauncherError('Hosted', message, { context: { instance } });
}

function firstInstances(node: ServiceShape): string[] {
  return hostedServices(node).map((service) => `${service}-0`);
}
