import { type Container, type Pod, parseQuantity, quantityMilli, quantityUnits } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';

/** The exclusive things that one container requests. */
export interface ContainerRequest {
  readonly name: string;
  /** An `init` container ends before the next one starts; a `sidecar` is an init container that goes on. */
  readonly kind: 'init' | 'sidecar' | 'app';
  /** 0: it has no CPUs of its own. */
  readonly cpus: number;
  /**
   * Bytes by resource (`memory`, `hugepages-2Mi`); undefined: it has no memory of its own. Empty: as a container of a pod that has resources
   * as a whole it requests none.
   */
  readonly memory: Readonly<Record<string, number>> | undefined;
}

/** The exclusive things that a pod requests, for its containers in the order in which they start. */
export interface PodRequest {
  readonly uid: string;
  readonly containers: readonly ContainerRequest[];
  /** What the pod requests as a whole; undefined: its containers request all. */
  readonly whole?: WholePod | undefined;
}

/** What a pod requests as a whole (`spec.resources`). */
export interface WholePod {
  /** 0: no whole number of them. */
  readonly cpus: number;
  /** Bytes by resource, none of them 0. */
  readonly memory: Readonly<Record<string, number>>;
}

/**
 * Where pods with resources of their own have exclusive things (the gate PodLevelResourceManagers): each container on its own, or the pod as
 * a whole, which its containers divide, where it is aligned as a whole (topologyManagerScope `pod` with a policy). Undefined: they have none.
 */
export type PodLevel = 'container' | 'pod' | undefined;

/**
 * Guaranteed pods request exclusive things (behaviour:resource-managers): memory for each container, CPUs for those that request whole
 * ones. Containers of a pod with resources of its own request them only if their own requests equal their limits.
 */
export function podRequest(pod: Pick<Pod, 'metadata' | 'spec'>, podLevel?: PodLevel): PodRequest {
  const whole = podLevel === undefined ? undefined : wholePod(pod);
  return { uid: pod.metadata.uid, containers: containerRequests(pod, podLevel), ...(whole && { whole }) };
}

function containerRequests(pod: Pick<Pod, 'spec'>, podLevel: PodLevel): readonly ContainerRequest[] {
  const { spec } = pod;
  const isWhole = hasOwnResources(pod);
  const isExclusive = qosClass(pod) === 'Guaranteed' && (!isWhole || podLevel !== undefined);
  const request = (container: Container, kind: ContainerRequest['kind']): ContainerRequest => {
    const isOwn = isExclusive && (!isWhole || isGuaranteed(container));
    const nothing = isExclusive ? {} : undefined;
    const memory = isOwn ? memoryOf(container) : nothing;
    return { name: container.name, kind, cpus: isOwn ? wholeCpus(container) : 0, memory };
  };
  const init = (spec.initContainers ?? []).map((one) =>
    request(one, one.restartPolicy === 'Always' ? 'sidecar' : 'init'),
  );
  return [...init, ...spec.containers.map((one) => request(one, 'app'))];
}

/** Which managers of a node give containers something for themselves. */
export interface ExclusivePolicies {
  readonly cpus: boolean;
  readonly memory: boolean;
  readonly podLevel?: PodLevel;
}

/** What a pod requests of a node's managers; undefined: nothing of what they give. */
export function exclusiveRequest(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  policies: ExclusivePolicies,
): PodRequest | undefined {
  if (!policies.cpus && !policies.memory) return undefined;
  const request = podRequest(pod, policies.podLevel);
  const isAsked = ({ cpus, memory }: ContainerRequest) =>
    (policies.cpus && cpus > 0) || (policies.memory && memory !== undefined);
  const isWhole = policies.cpus && policies.podLevel === 'pod' && (request.whole?.cpus ?? 0) > 0;
  return isWhole || request.containers.some(isAsked) ? request : undefined;
}

/** Who else runs on the CPUs of a container: nobody, containers of its pod, or any of the node. */
export type CpuSharing = 'node' | 'nobody' | 'pod';

/** Who else runs on a container's CPUs where the CPU manager's policy is `static`. */
export function cpuSharing(pod: Pick<Pod, 'spec'>, podLevel: PodLevel, container: string): CpuSharing {
  const { cpus = 0 } = runningContainers(pod, podLevel).find(({ name }) => name === container) ?? {};
  if (cpus > 0) return 'nobody';
  return podLevel === 'pod' && (wholePod(pod)?.cpus ?? 0) > 0 ? 'pod' : 'node';
}

/** Containers with what they run on: of a pod that is aligned as a whole they have CPUs for themselves only if the pod has a whole number of them. */
function runningContainers(pod: Pick<Pod, 'spec'>, podLevel: PodLevel): readonly ContainerRequest[] {
  const containers = containerRequests(pod, podLevel);
  const isWhole = podLevel === 'pod' && hasOwnResources(pod);
  return isWhole && (wholePod(pod)?.cpus ?? 0) === 0 ? containers.map((one) => ({ ...one, cpus: 0 })) : containers;
}

/**
 * Whether the pod has no CPU quota where containers with CPUs for themselves have none: one of its containers has such CPUs, or, where the pod
 * has resources of its own, each has.
 */
export function isWithoutQuota(pod: Pick<Pod, 'spec'>, podLevel: PodLevel): boolean {
  const isOwn = ({ cpus }: ContainerRequest) => cpus > 0;
  const containers = runningContainers(pod, podLevel);
  return podLevel !== undefined && hasOwnResources(pod) ? containers.every(isOwn) : containers.some(isOwn);
}

/** The CPUs that a pod requests as a whole, or the most that its containers have for themselves at the same time. */
export function podCpus({ containers, whole }: PodRequest): number {
  return whole === undefined ? most(containers, ({ cpus }) => cpus) : whole.cpus;
}

/**
 * The memory that a pod requests as a whole, or the most that its containers have for themselves at the same time, of the resources that its
 * app containers request.
 */
export function podMemory({ containers, whole }: PodRequest): Readonly<Record<string, number>> | undefined {
  if (whole !== undefined) return whole.memory;
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

/** Whether a container of a pod that has resources as a whole requests memory. */
export function hasMemory(memory: ContainerRequest['memory']): boolean {
  return memory !== undefined && Object.keys(memory).length > 0;
}

/** Bytes of a resource that the containers request for themselves. */
export function memorySum(containers: readonly ContainerRequest[], resource: string): number {
  return containers.reduce((sum, { memory }) => sum + (memory?.[resource] ?? 0), 0);
}

function hasOwnResources({ spec: { resources } }: Pick<Pod, 'spec'>): boolean {
  return Object.keys({ ...resources?.limits, ...resources?.requests }).length > 0;
}

/** Undefined: it has no resources of its own, or is not Guaranteed. */
function wholePod(pod: Pick<Pod, 'spec'>): WholePod | undefined {
  if (!hasOwnResources(pod) || qosClass(pod) !== 'Guaranteed') return undefined;
  const memory = Object.entries(memoryOf(pod.spec)).filter(([, bytes]) => bytes > 0);
  return { cpus: wholeCpus(pod.spec), memory: Object.fromEntries(memory) };
}

/** It has CPU and memory, and may use no more of them than it requests. */
function isGuaranteed({ resources }: Container): boolean {
  return ['cpu', 'memory'].every((name) => {
    const limit = parseQuantity(resources?.limits?.[name] ?? '0')?.nano ?? 0n;
    const request = parseQuantity(resources?.requests?.[name] ?? resources?.limits?.[name] ?? '0')?.nano ?? 0n;
    return request > 0n && request === limit;
  });
}

function wholeCpus({ resources }: Pick<Container, 'resources'>): number {
  const quantity = parseQuantity(resources?.requests?.['cpu'] ?? resources?.limits?.['cpu'] ?? '0');
  if (quantity === undefined) return 0;
  const [units, milli] = [quantityUnits(quantity), quantityMilli(quantity)];
  return units * 1000n === milli ? Number(units) : 0;
}

function memoryOf({ resources }: Pick<Container, 'resources'>): Record<string, number> {
  const amounts = Object.entries({ ...resources?.limits, ...resources?.requests });
  return Object.fromEntries(
    amounts.flatMap(([resource, text]): [string, number][] => {
      const quantity = resource === 'memory' || resource.startsWith('hugepages-') ? parseQuantity(text) : undefined;
      return quantity === undefined ? [] : [[resource, Number(quantityUnits(quantity))]];
    }),
  );
}
