import { type Container, type Pod, parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';

/** The exclusive things that one container requests. */
export interface ContainerRequest {
  readonly name: string;
  /** An `init` container ends before the next one starts; a `sidecar` is an init container that goes on. */
  readonly kind: 'init' | 'sidecar' | 'app';
  /** 0: it has no CPUs of its own. */
  readonly cpus: number;
  /** Bytes by resource (`memory`, `hugepages-2Mi`); undefined: it has no memory of its own. */
  readonly memory: Readonly<Record<string, number>> | undefined;
}

/** The exclusive things that a pod requests, for its containers in the order in which they start. */
export interface PodRequest {
  readonly uid: string;
  readonly containers: readonly ContainerRequest[];
}

/**
 * Guaranteed pods request exclusive things (behaviour:resource-managers): memory for each container, CPUs for those that request whole
 * ones. Pods with resources of their own (`spec.resources`) do not: the gate PodLevelResourceManagers is off.
 */
export function podRequest(pod: Pick<Pod, 'metadata' | 'spec'>): PodRequest {
  return { uid: pod.metadata.uid, containers: containerRequests(pod) };
}

function containerRequests(pod: Pick<Pod, 'spec'>): readonly ContainerRequest[] {
  const { spec } = pod;
  const isExclusive = qosClass(pod) === 'Guaranteed' && spec.resources === undefined;
  const request = (container: Container, kind: ContainerRequest['kind']): ContainerRequest => ({
    name: container.name,
    kind,
    cpus: isExclusive ? wholeCpus(container) : 0,
    memory: isExclusive ? memoryOf(container) : undefined,
  });
  const init = (spec.initContainers ?? []).map((one) =>
    request(one, one.restartPolicy === 'Always' ? 'sidecar' : 'init'),
  );
  return [...init, ...spec.containers.map((one) => request(one, 'app'))];
}

/** Which managers of a node give containers something for themselves. */
export interface ExclusivePolicies {
  readonly cpus: boolean;
  readonly memory: boolean;
}

/** What a pod requests of a node's managers; undefined: nothing of what they give. */
export function exclusiveRequest(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  policies: ExclusivePolicies,
): PodRequest | undefined {
  if (!policies.cpus && !policies.memory) return undefined;
  const request = podRequest(pod);
  const isAsked = ({ cpus, memory }: ContainerRequest) =>
    (policies.cpus && cpus > 0) || (policies.memory && memory !== undefined);
  return request.containers.some(isAsked) ? request : undefined;
}

/** Whether the container, or without a name one of the pod's, gets CPUs of its own where the CPU manager's policy is `static`. */
export function hasOwnCpus(pod: Pick<Pod, 'spec'>, container?: string): boolean {
  return containerRequests(pod).some(({ name, cpus }) => (container === undefined || name === container) && cpus > 0);
}

/** The most CPUs of their own that the containers of a pod have at the same time. */
export function podCpus({ containers }: PodRequest): number {
  return most(containers, ({ cpus }) => cpus);
}

/** The most memory of their own that the containers of a pod have at the same time, of the resources that its app containers request. */
export function podMemory({ containers }: PodRequest): Readonly<Record<string, number>> | undefined {
  if (containers.every(({ memory }) => memory === undefined)) return undefined;
  const apps = containers.filter(({ kind }) => kind === 'app');
  const resources = new Set(apps.flatMap(({ memory }) => Object.keys(memory ?? {})));
  return Object.fromEntries(
    [...resources].map((resource) => [resource, most(containers, ({ memory }) => memory?.[resource] ?? 0)]),
  );
}

function most(containers: readonly ContainerRequest[], amount: (container: ContainerRequest) => number): number {
  let [kept, greatest] = [0, 0];
  for (const container of containers) {
    const now = kept + amount(container);
    greatest = Math.max(greatest, now);
    if (container.kind !== 'init') kept = now;
  }
  return greatest;
}

function wholeCpus({ resources }: Container): number {
  const quantity = parseQuantity(resources?.requests?.['cpu'] ?? resources?.limits?.['cpu'] ?? '0');
  if (quantity === undefined) return 0;
  const [units, milli] = [quantityUnits(quantity), quantityMilli(quantity)];
  return units * 1000n === milli ? Number(units) : 0;
}

function memoryOf({ resources }: Container): Record<string, number> {
  const amounts = Object.entries({ ...resources?.limits, ...resources?.requests });
  return Object.fromEntries(
    amounts.flatMap(([resource, text]): [string, number][] => {
      const quantity = resource === 'memory' || resource.startsWith('hugepages-') ? parseQuantity(text) : undefined;
      return quantity === undefined ? [] : [[resource, Number(quantityUnits(quantity))]];
    }),
  );
}
