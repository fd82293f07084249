import type {
  Container,
  ContainerConfig,
  ContainerStatus,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxStatus,
} from '@kubus/proto/cri';

/** How the process of a container behaves: ends by itself after `runMs` with `exitCode`, or runs until it is stopped. */
export interface Behaviour {
  readonly runMs: number | undefined;
  readonly exitCode: number;
}

/** The runtime handler whose network cni-bridge provides. */
export const HANDLER = 'kubus';

/** Whether a sandbox uses the host's network, and so has none of its own. */
export function onHostNetwork(config: PodSandboxConfig): boolean {
  return config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
}

/** The first ID of the host that a sandbox's user namespace maps; undefined for a sandbox that uses the host's users. */
function firstId({ config }: Pick<ModelSandbox, 'config'>): number | undefined {
  return config.linux?.securityContext?.namespaceOptions?.usernsOptions?.uids?.[0]?.hostId;
}

/**
 * Detects a container whose user namespace is shared with another pod, or differs from the pod's earlier one. A
 * sandbox without containers does not count: one that was being created when cri-bridge crashed may appear after its pod has ended.
 */
export function idFaults(sandbox: ModelSandbox, containers: Iterable<ModelContainer>): string[] {
  const own = firstId(sandbox);
  if (own === undefined) return [];
  const uid = sandbox.config.metadata?.uid ?? '';
  return [...containers].flatMap(({ sandbox: other }) => {
    const otherUid = other.config.metadata?.uid ?? '';
    const id = firstId(other);
    return (otherUid === uid) === (id === own) ? [] : [`${uid} with ${own} beside ${otherUid} with ${id ?? 'none'}`];
  });
}

/** The network side of the runtime: the role of the shim. */
export interface SandboxNetwork {
  add(sandboxId: string, config: PodSandboxConfig): Promise<string>;
  remove(sandboxId: string): Promise<void>;
}

export interface ModelSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly handler: string;
  readonly createdAt: bigint;
  ready: boolean;
  ip: string;
}

export interface ModelContainer {
  readonly id: string;
  readonly sandbox: ModelSandbox;
  readonly config: ContainerConfig;
  readonly createdAt: bigint;
  state: 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED';
  starting: boolean;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  reason: string;
  /** The CPUs that it may use now, as a list; undefined: all. */
  cpus: string | undefined;
  onExit: (() => void)[];
}

/** Called with each container that was created, that has got other CPUs, and that has started. */
export interface ContainerObserver {
  readonly created: (container: ModelContainer) => void;
  readonly updated: (container: ModelContainer) => void;
  readonly started: (container: ModelContainer) => void;
}

/** One change in the runtime, for the checks after a run. */
export interface RuntimeDeed {
  readonly what: 'sandbox' | 'create' | 'start' | 'exit' | 'remove';
  readonly uid: string;
  readonly name: string;
  readonly attempt: number;
  readonly id: string;
  readonly at: number;
  /** The container ended by itself. */
  readonly own?: boolean;
  /** The exit code of an exit. */
  readonly exitCode?: number;
}

export function listedSandbox(sandbox: ModelSandbox): PodSandbox {
  return {
    id: sandbox.id,
    metadata: sandbox.config.metadata ?? {},
    state: sandbox.ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
    createdAt: String(sandbox.createdAt),
    labels: sandbox.config.labels ?? {},
    runtimeHandler: sandbox.handler,
  };
}

export function listedContainer(container: ModelContainer): Container {
  return {
    id: container.id,
    podSandboxId: container.sandbox.id,
    metadata: container.config.metadata ?? {},
    state: container.state,
    createdAt: String(container.createdAt),
    labels: container.config.labels ?? {},
  };
}

export function sandboxStatus(sandbox: ModelSandbox): PodSandboxStatus {
  const options = sandbox.config.linux?.securityContext?.namespaceOptions ?? { network: 'POD' };
  return { ...listedSandbox(sandbox), network: { ip: sandbox.ip }, linux: { namespaces: { options } } };
}

export function containerStatus(container: ModelContainer): ContainerStatus {
  const { startedAt, finishedAt, exitCode, reason, config } = container;
  return {
    ...listedContainer(container),
    startedAt: String(startedAt),
    finishedAt: String(finishedAt),
    ...{ exitCode, reason },
    annotations: config.annotations ?? {},
    image: config.image ?? {},
  };
}

export function labelled(
  item: { labels?: Record<string, string> },
  selector: Record<string, string> | undefined,
): boolean {
  return Object.entries(selector ?? {}).every(([name, value]) => item.labels?.[name] === value);
}

/** Container name to its newest attempt that was ever started, as a pod's logs show. */
export function newestStarts(deeds: readonly RuntimeDeed[], uid: string): ReadonlyMap<string, number> {
  const starts = deeds.filter((deed) => deed.what === 'start' && deed.uid === uid);
  return new Map(starts.map(({ name, attempt }) => [name, attempt]));
}
