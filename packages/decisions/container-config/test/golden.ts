import type { Container, IdRange, Pod, Volume } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';
import { defaultPod } from '@kubus/pod-source';
import {
  type ContainerSettings,
  type MountedVolume,
  type ObjectLookup,
  type SandboxSettings,
  dnsConfig,
} from '../src/index.ts';

/**
 * The requests of the reference kubelet v1.36.2 to containerd 1.6, on a node with cgroups v1 and an API server, in the proto3
 * JSON mapping without default values. Ids, times and folders are placeholders; variables are `name: value`.
 */
export interface Golden {
  readonly pod: Pod;
  readonly objects?: readonly { kind: string; name: string; data: Record<string, string> }[];
  readonly sandbox?: unknown;
  readonly containers: Readonly<Record<string, unknown>>;
  /** Why containers were not created. */
  readonly waiting?: Readonly<Record<string, string>>;
}

const POD_FOLDER = '<root>/pods/<uuid>';

/** The pod as in the API server: with its defaults, and with the kubelet's annotation of when it was seen. */
export function seenPod({ pod }: Golden): Pod {
  const { annotations, ...metadata } = pod.metadata;
  const seen = { ...annotations, 'kubernetes.io/config.seen': '<time>', 'kubernetes.io/config.source': 'api' };
  return defaultPod({ ...pod, metadata: { ...metadata, namespace: '<ns>', uid: '<uuid>', annotations: seen } });
}

export function sandboxSettings(pod: Pod): SandboxSettings {
  const folder = { Guaranteed: '', Burstable: '/burstable', BestEffort: '/besteffort' }[qosClass(pod)];
  const { config } = dnsConfig(pod, {
    clusterDns: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    resolvConf: undefined,
    nodeIps: ['10.123.0.1'],
  });
  return {
    attempt: 0,
    logDirectory: '<logs>/<ns>_t_<uuid>',
    cgroupParent: `/kubepods${folder}/pod<uuid>`,
    dns: config,
  };
}

export function containerSettings(pod: Pod, container: Container): ContainerSettings {
  const mounts = container.volumeMounts ?? [];
  return {
    attempt: 0,
    imageId: '<digest>',
    imageUser: { uid: '0' },
    memoryCapacity: 24_684_084n * 1024n,
    hugepageSizes: [2n * 1024n ** 2n, 1024n ** 3n],
    swap: { behavior: 'NoSwap', capacity: 0n },
    services: [
      {
        name: 'kubernetes',
        namespace: 'default',
        clusterIP: '10.96.0.1',
        ports: [{ name: 'https', port: 443, protocol: 'TCP' }],
      },
    ],
    allocatable: { cpu: '2', memory: '24581684Ki' },
    volumes: new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, mounted(volume)])),
    subPaths: new Map(
      mounts.map(({ name }, index) => [index, `${POD_FOLDER}/volume-subpaths/${name}/${container.name}/${index}`]),
    ),
    etcHostsPath: `${POD_FOLDER}/etc-hosts`,
    terminationLogPath: `${POD_FOLDER}/containers/${container.name}/<rand>`,
  };
}

export function lookup({ objects = [] }: Golden): ObjectLookup {
  return ({ kind, name }) => objects.find((object) => object.kind === kind && object.name === name)?.data;
}

/** Where the reference mounts a volume, by its plugin. */
const PLUGINS = {
  emptyDir: 'empty-dir',
  configMap: 'configmap',
  secret: 'secret',
  downwardAPI: 'downward-api',
  projected: 'projected',
} as const;

function mounted(volume: Volume): MountedVolume {
  if (volume.hostPath !== undefined) return { hostPath: volume.hostPath.path };
  const plugins = Object.entries(PLUGINS);
  const [source, plugin] = plugins.find(([source]) => volume[source as keyof typeof PLUGINS] !== undefined) ?? [];
  if (plugin === undefined) throw new Error(`no plugin for volume ${volume.name}`);
  const hostPath = `${POD_FOLDER}/volumes/kubernetes.io~${plugin}/${volume.name}`;
  return { hostPath, readOnly: source !== 'emptyDir' };
}

/** Fields that contain a map, whose values are never omitted. */
const MAPS: readonly string[] = ['labels', 'annotations', 'sysctls', 'envs'];
const DEFAULTS: readonly unknown[] = [
  ...[undefined, false, 0, '', '0'],
  ...['TCP', 'POD', 'PROPAGATION_PRIVATE', 'RuntimeDefault', 'Merge'],
];

/** A message in proto3 form: fields that have their default value are omitted. */
export function withoutDefaults(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(withoutDefaults);
  if (typeof message !== 'object' || message === null) return message;
  const fields = Object.entries(message).flatMap(([name, value]): [string, unknown][] => {
    if (MAPS.includes(name)) return Object.keys(value as object).length > 0 ? [[name, value]] : [];
    const empty = Array.isArray(value) && value.length === 0;
    return empty || DEFAULTS.includes(value) ? [] : [[name, withoutDefaults(value)]];
  });
  return Object.fromEntries(fields);
}

/** A record, changed to that of a pod which has these ids instead of the host's: in its namespaces and on every mount. */
export function withIds(record: unknown, { hostId, length }: IdRange): unknown {
  // The first id in the namespace is 0, a default value.
  const mapping = [{ hostId, length }];
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change);
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value).map(([name, field]): [string, unknown] => {
      if (name === 'usernsOptions') return [name, { uids: mapping, gids: mapping }];
      if (name !== 'mounts') return [name, change(field)];
      const mounts = field as readonly object[];
      return [name, mounts.map((mount) => ({ ...mount, uidMappings: mapping, gidMappings: mapping }))];
    });
    return Object.fromEntries(fields);
  };
  return change(record);
}
