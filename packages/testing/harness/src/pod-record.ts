import { type PodStatus, SANDBOX_CAUSE } from '@kubus/contracts';
import { type RecordScope, scrub, without } from './record-scrub.ts';
import type { TestNode } from './test-node.ts';

/** The node and namespace of a pod's record. `folders`: further folders, each with its placeholder. */
export function scopeOf(
  { dir }: TestNode,
  namespace: string,
  folders: Readonly<Record<string, string>> = {},
): RecordScope {
  return {
    node: dir.node,
    namespace,
    folders: { ...folders, '<logs>': dir.podLogs, '<root>': dir.pods },
    cgroupRoot: dir.cgroupRoot,
  };
}

/** A Kubernetes event about a pod, from the bus or from the API server. */
export interface ToldEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** Such as `spec.containers{web}`; empty or missing: the pod as a whole. */
  readonly fieldPath?: string | undefined;
}

/** The pod's status as in the golden records: conditions by their type, without what differs from run to run. */
export function statusRecord(status: PodStatus | undefined, scope: RecordScope): unknown {
  const { observedGeneration: _generation, conditions = [], ...rest } = status ?? {};
  const sorted = conditions
    .map(({ lastProbeTime: _probed, observedGeneration: _observed, ...condition }) => condition)
    .sort((a, b) => (a.type < b.type ? -1 : 1));
  const kept = { ...rest, conditions: sorted };
  const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;
  for (const list of lists) {
    const statuses = kept[list];
    if (statuses !== undefined) kept[list] = statuses.map(({ allocatedResources: _allocated, ...one }) => one);
  }
  return scrub(without(kept, ['startTime', 'containerID', 'imageID']), scope);
}

/** The Kubernetes events about a pod, each once and sorted: how often an event repeats depends on the clock. */
export function eventRecord(seen: readonly ToldEvent[], scope: RecordScope): unknown {
  const events = seen.map(({ type, reason, message, fieldPath = '' }) => [type, reason, message, fieldPath]);
  return [...new Set(events.map((event) => JSON.stringify(scrub(event, scope))))]
    .sort()
    .map((event) => JSON.parse(event) as unknown);
}

/**
 * The CRI configs that reached the runtime: of the pod's sandboxes, and of the newest attempt of each container,
 * as stored by containerd.
 */
export async function runtimeRecord(node: Pick<TestNode, 'cri'>, uid: string, scope: RecordScope): Promise<unknown> {
  const labelSelector = { 'io.kubernetes.pod.uid': uid };
  const { items = [] } = await node.cri('ListPodSandbox', { filter: { labelSelector } });
  const sandboxes = await Promise.all(
    items.map(async ({ id = '', state = 'SANDBOX_READY' }) => {
      const { info } = await node.cri('PodSandboxStatus', { podSandboxId: id, verbose: true });
      return { config: withoutOurOwn(withoutRuntimesOwn(configIn(info))), state };
    }),
  );
  const { containers = [] } = await node.cri('ListContainers', { filter: { labelSelector } });
  const newest = new Map<string, { id: string; attempt: number }>();
  for (const { id = '', metadata: { name = '', attempt = 0 } = {} } of containers) {
    if ((newest.get(name)?.attempt ?? -1) < attempt) newest.set(name, { id, attempt });
  }
  const configs = await Promise.all(
    [...newest].map(async ([name, { id }]) => {
      const { info } = await node.cri('ContainerStatus', { containerId: id, verbose: true });
      return [name, { config: withoutAttempt(configIn(info)) }] as const;
    }),
  );
  return scrub({ sandboxes, containers: Object.fromEntries(configs) }, scope);
}

/** A CRI config in the field names of its protocol, as containerd prints it. */
type PrintedConfig = Readonly<Record<string, unknown>>;

interface PrintedContainer {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly envs?: readonly { readonly key: string }[];
  readonly image?: Readonly<Record<string, unknown>>;
  readonly mounts?: readonly { readonly container_path: string }[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly log_path?: string;
}

function configIn(info: Readonly<Record<string, string>> | undefined): PrintedConfig {
  return (JSON.parse(info?.['info'] ?? '{}') as { config?: PrintedConfig }).config ?? {};
}

/** The sysctls that containerd 2 sets in each sandbox by default (enable_unprivileged_ports and …_icmp). */
const RUNTIMES_SYSCTLS: Readonly<Record<string, string>> = {
  'net.ipv4.ip_unprivileged_port_start': '0',
  'net.ipv4.ping_group_range': '0 2147483647',
};

interface PrintedSandbox {
  readonly linux?: { readonly sysctls?: Readonly<Record<string, string>> };
}

/** A sandbox's config as it reached the runtime: without the sysctls that containerd 2 adds. */
function withoutRuntimesOwn(config: PrintedConfig): PrintedConfig {
  const { linux, ...rest } = config as PrintedSandbox;
  if (linux?.sysctls === undefined) return config;
  const asked = Object.entries(linux.sysctls).filter(([name, value]) => RUNTIMES_SYSCTLS[name] !== value);
  return { ...rest, linux: { ...linux, sysctls: Object.fromEntries(asked) } };
}

/** A sandbox's config without the annotation that carries the causes of its CNI runs, which no other agent writes. */
function withoutOurOwn(config: PrintedConfig): PrintedConfig {
  const { annotations = {}, ...rest } = config as { annotations?: Readonly<Record<string, string>> };
  const others = Object.entries(annotations).filter(([name]) => name !== SANDBOX_CAUSE);
  return { ...rest, ...(others.length > 0 && { annotations: Object.fromEntries(others) }) };
}

/** A container's config without its attempt, with its lists sorted. */
function withoutAttempt(config: PrintedConfig): PrintedConfig {
  const { annotations, envs, image, mounts, metadata, log_path: logPath, ...rest } = config as PrintedContainer;
  return {
    ...rest,
    // containerd 1.6, with which the golden records were made, does not know that field.
    ...(image && { image: without(image, ['user_specified_image']) }),
    ...(annotations && { annotations: without(annotations, ['io.kubernetes.container.restartCount']) }),
    ...(metadata && { metadata: without(metadata, ['attempt']) }),
    envs: sortedBy(envs ?? [], ({ key }) => key),
    mounts: sortedBy(mounts ?? [], ({ container_path: path }) => path),
    log_path: (logPath ?? '').replace(/\/\d+\.log$/, '/<attempt>.log'),
  };
}

function sortedBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
