import type { PodRef, RuntimeContainer, RuntimeSandbox } from '@kubus/contracts';
import type {
  Container,
  ContainerState,
  ContainerStatus,
  ImageSpec,
  LinuxContainerResources,
  PodSandbox,
  PodSandboxStatus,
} from '@kubus/proto/cri';

/** The label with the UID of a sandbox's or container's pod (behaviour:labels-paths-logs). */
export const UID_LABEL = 'io.kubernetes.pod.uid';
const NAME_LABEL = 'io.kubernetes.pod.name';
const NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
const CONTAINER_LABEL = 'io.kubernetes.container.name';
/** Of a container's annotations, only these are needed to recognize it. */
const ANNOTATION_PREFIX = 'io.kubernetes.';
const TERMINATION_PATH = 'io.kubernetes.container.terminationMessagePath';

const states: Record<ContainerState, RuntimeContainer['state']> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
  UNRECOGNIZED: 'unknown',
};

type Labels = Record<string, string>;

/** The pod of a sandbox or container, by its labels; undefined when another program created it. */
export function podRefOf(item: { labels?: Labels | undefined }): PodRef | undefined {
  const uid = item.labels?.[UID_LABEL];
  if (uid === undefined) return undefined;
  return { uid, name: item.labels?.[NAME_LABEL] ?? '', namespace: item.labels?.[NAMESPACE_LABEL] ?? '' };
}

export function containerState(container: Pick<Container, 'state'>): RuntimeContainer['state'] {
  return states[container.state ?? 'CONTAINER_UNKNOWN'];
}

/** @param status undefined for a sandbox that no longer runs: its list entry is enough. */
export function toSandbox(listed: PodSandbox, status: PodSandboxStatus | undefined): RuntimeSandbox {
  const { network, linux } = status ?? {};
  const mode = linux?.namespaces?.options?.network;
  const ips = [network?.ip ?? '', ...(network?.additionalIps ?? []).map(({ ip }) => ip ?? '')];
  return {
    id: listed.id ?? '',
    attempt: listed.metadata?.attempt ?? 0,
    ready: (status?.state ?? listed.state) === 'SANDBOX_READY',
    createdAt: listed.createdAt ?? '0',
    ips: ips.filter((ip) => ip !== ''),
    ...(mode !== undefined && { hostNetwork: mode === 'NODE' }),
    runtimeHandler: listed.runtimeHandler ?? '',
  };
}

export function toContainer(listed: Container, status: ContainerStatus): RuntimeContainer {
  const annotations = Object.fromEntries(
    Object.entries(status.annotations ?? {}).filter(([name]) => name.startsWith(ANNOTATION_PREFIX)),
  );
  const state = containerState(status);
  const end = state === 'exited' ? terminationLog(status, annotations[TERMINATION_PATH]) : undefined;
  return {
    id: listed.id ?? '',
    name: status.labels?.[CONTAINER_LABEL] ?? status.metadata?.name ?? '',
    attempt: status.metadata?.attempt ?? 0,
    sandboxId: listed.podSandboxId ?? '',
    state,
    createdAt: status.createdAt ?? '0',
    startedAt: status.startedAt ?? '0',
    finishedAt: status.finishedAt ?? '0',
    exitCode: status.exitCode ?? 0,
    reason: status.reason ?? '',
    message: status.message ?? '',
    image: imageName(status.image),
    imageRef: status.imageRef ?? '',
    imageId: status.imageId ?? '',
    logPath: status.logPath ?? '',
    ...(end !== undefined && { terminationLog: end }),
    annotations,
    ...(status.resources?.linux !== undefined && { resources: toResources(status.resources.linux) }),
  };
}

/** Another agent may have chosen the file: only the container's mounts show its path. */
function terminationLog({ mounts = [] }: ContainerStatus, path: string | undefined): string | undefined {
  return mounts.find(({ containerPath }) => containerPath === path)?.hostPath;
}

/**
 * As the user wrote it; a runtime that does not keep that (containerd 1.6) leaves it empty, and then the image's own
 * name is used.
 */
function imageName(image: ImageSpec | undefined): string {
  const written = image?.userSpecifiedImage ?? '';
  return written === '' ? (image?.image ?? '') : written;
}

function toResources(resources: LinuxContainerResources): RuntimeContainer['resources'] {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes } = resources;
  return { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes };
}

/** Newest first: by attempt, then by creation time. */
export function newestFirst(
  a: { attempt: number; createdAt: string },
  b: { attempt: number; createdAt: string },
): number {
  return b.attempt - a.attempt || (BigInt(b.createdAt) > BigInt(a.createdAt) ? 1 : -1);
}
