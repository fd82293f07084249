import type { ServiceName } from '@kubus/contracts';
import { type Placement, clusterServices, hostProcess, nodeServices, placedServices } from '@kubus/service-kit';
import { LauncherError } from '../errors.ts';
import { type InstanceCounts, instancesOf } from '../nats/identities.ts';

/** Services that a node has on request only. */
const optionalServices = ['kube-api', 'observatory'] as const satisfies readonly ServiceName[];

/** All services that a node can have. */
export const everyService: readonly ServiceName[] = [...nodeServices, ...clusterServices, ...optionalServices];

/** The settings that decide which processes a node has. */
export interface NodeShape {
  /** Which services share a process. */
  readonly placement: Placement;
  readonly instances: InstanceCounts;
  /** Path of the node's kubeconfig; undefined: the node is not a member of a cluster. */
  readonly kubeconfig?: string | undefined;
  /** Whether the node has a Kubernetes API of its own, of which it is a member. Default: false. */
  readonly api?: boolean | undefined;
  /** Whether the node has an observatory. Default: false. */
  readonly observatory?: boolean | undefined;
  /** Services that the user runs: they share no process. Default: none. */
  readonly elsewhere?: readonly string[] | undefined;
  /** Services that are out of the process that they share, for now. Default: none. */
  readonly movedOut?: readonly ServiceName[] | undefined;
}

/** The settings that decide which services a node has. */
type ServiceShape = Pick<NodeShape, 'kubeconfig' | 'api' | 'observatory'>;

/** Whether the node is a member of a cluster: of another, or of its own. */
export function isMember({ kubeconfig, api }: Pick<NodeShape, 'kubeconfig' | 'api'>): boolean {
  return kubeconfig !== undefined || api === true;
}

/** The services of a node with these settings. */
export function servicesOf({ kubeconfig, api, observatory }: ServiceShape): readonly ServiceName[] {
  const has = { 'kube-api': api === true, observatory: observatory === true };
  return [
    ...nodeServices,
    ...(isMember({ kubeconfig, api }) ? clusterServices : []),
    ...optionalServices.filter((service) => has[service]),
  ];
}

/** The services that share a process, by its name: `services`, or `services-NAME` of a group. */
export function sharedProcesses(node: Omit<NodeShape, 'instances'>): ReadonlyMap<string, readonly ServiceName[]> {
  const { placement, elsewhere = [] } = node;
  const present = servicesOf(node);
  return new Map(
    [...placedServices(placement)]
      .map(([name, services]) => {
        const own = services.filter((service) => present.includes(service) && !elsewhere.includes(service));
        return [name, own] as const;
      })
      .filter(([, services]) => services.length > 1),
  );
}

/** The instances that a process of the node runs. */
export function instancesIn(process: string, node: Omit<NodeShape, 'instances'>): readonly string[] {
  const services = sharedProcesses(node).get(process);
  return services === undefined ? [process] : services.filter((one) => !isMovedOut(one, node)).map(firstInstance);
}

/** The process that runs an instance. */
export function processOf(instance: string, node: Omit<NodeShape, 'instances'>): string {
  const shared = [...sharedProcesses(node).keys()].find((process) => instancesIn(process, node).includes(instance));
  return shared ?? instance;
}

function isMovedOut(service: ServiceName, { movedOut = [] }: Pick<NodeShape, 'movedOut'>): boolean {
  return movedOut.includes(service);
}

/** Whether a process of this name runs services. */
export function runsServices(process: string): boolean {
  return isSharedProcess(process) || /-\d+$/.test(process);
}

/** Whether a process of this name has several services. */
export function isSharedProcess(process: string): boolean {
  return process === hostProcess || process.startsWith(`${hostProcess}-`);
}

/** The names of the processes that run the services of a node. */
export function serviceProcesses(node: NodeShape): string[] {
  const each = servicesOf(node).flatMap((service) => instancesOf(service, node.instances));
  return [...new Set(each.map((instance) => processOf(instance, node)))];
}

/** Throws LauncherError `Hosted` when the named service or instance shares a process with others. */
export function checkOwnProcess(named: string, node: NodeShape): void {
  const instance = /-\d+$/.test(named) ? named : firstInstance(named);
  const process = processOf(instance, node);
  if (process === instance) return;
  const services = instancesIn(process, node).join(', ');
  const message = `${named} has no process of its own on this node (--placement): use "${process}", which means ${services}`;
  throw new LauncherError('Hosted', message, { context: { instance } });
}

function firstInstance(service: string): string {
  return `${service}-0`;
}
