import { ID_UNIT, type ServiceShare, type SharedService, parseQuantity, sharedServices } from '@kubus/contracts';
import { KubusError, toError } from '@kubus/ports';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { apiServerSchema, kubeApiSchema, nodeObjectSchema } from './api-config.ts';
import { deadContainersSchema } from './dead-containers-config.ts';
import { evictionSchema } from './eviction-config.ts';
import { exclusiveSchema } from './exclusive-config.ts';
import { imagesSchema } from './images-config.ts';
import { placementSchema } from './placement-config.ts';
import { serverSchema } from './server-config.ts';

/** Quantities by the name of a resource, such as `cpu: 500m`. */
const resourcesSchema = z.record(
  z.string(),
  z.string().refine((text) => parseQuantity(text) !== undefined, 'is not a quantity'),
);

/** Recording of the node by itself. */
const observatorySchema = z.strictObject({
  /** Unix socket on which the observatory answers users of the machine. */
  socket: z.string(),
  /** Folder of the page's files. Omitted: there is no page. */
  page: z.string().optional(),
  /** File of the published contract. Omitted: it is not served. */
  contract: z.string().optional(),
  /** Limits of `~live`: bytes, and milliseconds. */
  liveBytes: z
    .int()
    .positive()
    .default(256 * 1024 * 1024),
  liveMs: z.number().positive().default(3_600_000),
  /** A recording ends at this size; also the largest file that can be uploaded. Bytes. */
  recordingBytes: z
    .int()
    .positive()
    .default(4 * 1024 * 1024 * 1024),
});

/** Values of enforceNodeAllocatable; `none` is none of them. */
const enforcements = [
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
] as const;

/** The configuration of every service of a node: one JSON file, written by the launcher or by hand. */
export const nodeConfigSchema = z.strictObject({
  /** Node name, a DNS subdomain. */
  node: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/),
  /** The node's addresses, the primary one first. */
  nodeIps: z.array(z.string()).default([]),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Faults can be injected into messages, and services paused and killed: docs/experiments.md. */
  faults: z.boolean().default(false),
  /** Services publish journals, from which their lives can be replayed (docs/replay.md). */
  journal: z.boolean().default(false),
  nats: z.strictObject({
    /** `nats://HOST:PORT`, or `tls://HOST:PORT`. */
    url: z.string(),
    /** How the server of a `tls://` URL is verified. */
    tls: z
      .strictObject({
        /** File of the trusted CAs, PEM; omitted: those of the system. */
        ca: z.string().optional(),
        /** The name in its certificate, if its address has another name. */
        serverName: z.string().optional(),
      })
      .optional(),
    /** Folder with one nkey seed per identity, `<instance>.nk`, mode 0600. */
    identities: z.string(),
  }),
  /** Folder of the services' own state; one folder per service below it. */
  state: z.string(),
  /** The number of instances of each service that shares the pods. */
  instances: z.partialRecord(z.enum(sharedServices), z.number().int().positive()).default({}),
  /** Which services share a process. In a container, the process finds its services by this; a launcher that starts processes names them. */
  placement: placementSchema.default('separate'),
  /** Fixed HTTP ports by instance name, and by that of a process with several services, which serves only their health; others are chosen by the system. */
  httpPorts: z.record(z.string(), z.number().int().min(0).max(65535)).default({}),
  /** The addon with which a process at rest gives free memory back; without it, malloc keeps what it has needed. */
  mallocTrim: z.string().optional(),
  /** Omitted: the node has no static pods from files. */
  manifests: z
    .strictObject({
      /** A file or a folder of static pods (staticPodPath). */
      path: z.string(),
      /** How often it is read again without a detected change, in milliseconds (fileCheckFrequency). */
      checkEveryMs: z.number().positive().default(20_000),
    })
    .optional(),
  /** Static pods from a web server. */
  manifestUrl: z
    .strictObject({
      /** staticPodURL */
      url: z.url({ protocol: /^https?$/ }),
      /** staticPodURLHeader; must never be logged. */
      headers: z.record(z.string(), z.array(z.string())).default({}),
      /** httpCheckFrequency, in milliseconds */
      checkEveryMs: z.number().positive().default(20_000),
    })
    .optional(),
  /** Omitted: the node belongs to no cluster. */
  apiServer: apiServerSchema.optional(),
  /** Omitted: the node has no Kubernetes API of its own. */
  kubeApi: kubeApiSchema.optional(),
  nodeObject: nodeObjectSchema.prefault({}),
  /** Omitted: the node has no HTTP API. */
  server: serverSchema.optional(),
  /** Omitted: the node does not record itself. */
  observatory: observatorySchema.optional(),
  runtime: z.strictObject({
    /** Socket of the container runtime (CRI). */
    socket: z.string(),
    /** The holding relay's binary; without it a killed cri-bridge aborts its calls half way. */
    relay: z.string().optional(),
    /** Runtime handler whose CNI folder contains the shim; without it the runtime runs CNI itself. */
    handler: z.string().optional(),
    /** Maximum number of concurrent RunPodSandbox calls of all pods. */
    sandboxesAtOnce: z.number().int().positive().default(8),
    /** The parent cgroup of the node's pods, such as `/kubus-node0`. */
    cgroupRoot: z.string().default('/'),
  }),
  network: z.strictObject({
    /** Folder of the CNI configurations that cni-bridge runs. */
    configDir: z.string(),
    /** Folders of plugin binaries. */
    pluginDirs: z.array(z.string()).min(1),
    /** Socket on which the shim reaches cni-bridge. */
    socket: z.string(),
    /** Maximum number of concurrent plugin chains of all pods. */
    chainsAtOnce: z.number().int().positive().default(8),
    /** Time limit of one plugin, in milliseconds. */
    pluginTimeoutMs: z.number().positive().default(30_000),
    /**
     * Process in whose mount and network namespaces plugins are found and run: 1, where cni-bridge is in a container and
     * plugins are those of the machine. Omitted: they run where the runtime does.
     */
    namespacesOf: z.int().positive().optional(),
    /** Address ranges of the node's pods (podCIDRs). Empty: the CNI configuration has its own. */
    podCidrs: z.array(z.union([z.cidrv4(), z.cidrv6()], { error: 'is not a CIDR' })).default([]),
    /** How the network namespace of a private node reaches others: through connections of the machine, or not at all. Omitted: it is the machine's. */
    wayOut: z.enum(['nat', 'none']).optional(),
  }),
  /** Omitted: the node has no object-cache, and its pods cannot refer to objects of an API server. */
  objects: z
    .strictObject({
      /** Socket on which object-cache serves the contents of ConfigMaps and Secrets. */
      socket: z.string(),
    })
    .optional(),
  pods: z.strictObject({
    /** Folder of the pods' own files (the kubelet's root). */
    root: z.string(),
    /** Folder of the sockets of device plugins. Omitted: `device-plugins` in the root. */
    devicePlugins: z.string().optional(),
    /** Folder of the pods' logs. */
    logs: z.string(),
    /** Folder of links to the logs, where log collectors look. Omitted: no links are created. */
    logLinks: z.string().optional(),
    /** The helper that makes mounts; without it each mount starts a program, and there are no project quotas. */
    mountHelper: z.string().optional(),
    /** emptyDir volumes of pods with a user namespace are measured by project quotas (LocalStorageCapacityIsolationFSQuotaMonitoring). */
    projectQuotas: z.boolean().default(false),
    /** How long a pod that is in its desired state waits for its next sync, in milliseconds (syncFrequency). */
    syncEveryMs: z.number().positive().default(60_000),
    /** The cgroup driver, as configured in the runtime (cgroupDriver). */
    cgroupDriver: z.enum(['cgroupfs', 'systemd']).default('cgroupfs'),
    /** Maximum number of pods on the node (maxPods). */
    max: z.int().nonnegative().default(110),
    /** Sysctls, or prefixes that end with `*`, that pods may set besides the safe ones (allowedUnsafeSysctls). */
    unsafeSysctls: z.array(z.string()).default([]),
    /** A container without a seccomp profile gets the runtime's instead of none (seccompDefault). */
    seccompDefault: z.boolean().default(false),
    /** Whether CPU limits are enforced (cpuCFSQuota). */
    cpuQuota: z.boolean().default(true),
    /** Microseconds in which a CPU limit counts (cpuCFSQuotaPeriod). */
    cpuPeriodUs: z.int().positive().default(100_000),
    /** Whether the kernel ends one process of a container that lacks memory, and not the whole container (singleProcessOOMKill); cgroup v2. */
    singleProcessOomKill: z.boolean().default(false),
    /** Whether containers of burstable pods get a share of the machine's swap (memorySwap.swapBehavior); cgroup v2. */
    swapBehavior: z.enum(['NoSwap', 'LimitedSwap']).default('NoSwap'),
    /** How memory is protected and throttled before it is limited (the gate MemoryQoS); cgroup v2. Omitted: not at all. */
    memoryQos: z
      .strictObject({
        /** memoryThrottlingFactor */
        throttlingFactor: z.number().positive().max(1),
        /** memoryReservationPolicy */
        reservation: z.enum(['None', 'TieredReservation']),
      })
      .optional(),
    /** Maximum number of processes and threads of a pod (podPidsLimit). Omitted: unlimited. */
    pidsLimit: z.int().positive().optional(),
    /** How many ended containers stay; negative: all. */
    deadContainers: deadContainersSchema.prefault({}),
  }),
  /** Labels of the node besides its name, operating system and architecture (--node-labels). */
  labels: z.record(z.string(), z.string()).default({}),
  /** Taints that keep pods without a matching toleration off the node (registerWithTaints). */
  taints: z
    .array(
      z.strictObject({
        key: z.string(),
        value: z.string().optional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      }),
    )
    .default([]),
  /** What is reserved from pods, by resource (systemReserved, kubeReserved). */
  reserved: z
    .strictObject({
      system: resourcesSchema.default({}),
      kube: resourcesSchema.default({}),
      /** Keyed by signal: a quantity or a percentage of the capacity (evictionHard). */
      evictionHard: z.record(z.string(), z.string()).default({}),
      /** Whose resources are enforced by limits of cgroups (enforceNodeAllocatable). */
      enforce: z.array(z.enum(enforcements)).default(['pods']),
      /** The cgroup of the system's programs (systemReservedCgroup), and that of the node's and the runtime's (kubeReservedCgroup). */
      systemCgroup: z.string().default(''),
      kubeCgroup: z.string().default(''),
      /** The percentage of requested memory that pods of lower QoS classes cannot use (qosReserved). Omitted: none. */
      qosMemoryPercent: z.int().min(0).max(100).optional(),
    })
    .prefault({}),
  /** When pods are refused or evicted because the node is short of something. Texts by signal. */
  eviction: evictionSchema.prefault({}),
  /** Cgroups of other programs than pods, whose use is reported. Empty: none is. */
  systemCgroups: z
    .strictObject({
      /** That of the node's own programs (kubeletCgroups). */
      kubelet: z.string().default(''),
      /** When they were started, in milliseconds since the Unix epoch. */
      kubeletStartedAtMs: z.number().nonnegative().default(0),
      /** That of the container runtime (--runtime-cgroups). */
      runtime: z.string().default(''),
      /** That of the system's other programs (systemCgroups). */
      misc: z.string().default(''),
    })
    .prefault({}),
  /** Devices of device plugins. */
  devices: z
    .strictObject({
      /** Which containers are refused because their devices are not aligned (topologyManagerPolicy). */
      topologyPolicy: z.enum(['none', 'best-effort', 'restricted', 'single-numa-node']).default('none'),
      /** Whether devices are aligned for each container, or for the whole pod (topologyManagerScope). */
      topologyScope: z.enum(['container', 'pod']).default('container'),
      /** Of sets with the same number of NUMA nodes the closest is preferred (topologyManagerPolicyOptions, prefer-closest-numa-nodes). */
      preferClosestNodes: z.boolean().optional(),
      /** Maximum number of NUMA nodes for any policy but `none` (topologyManagerPolicyOptions, max-allowable-numa-nodes). Default: 8. */
      mostNodes: z.int().min(8).optional(),
    })
    .prefault({}),
  /** CPUs and memory that containers have for themselves. */
  exclusive: exclusiveSchema.prefault({}),
  /** Pods with user namespaces. */
  userNamespaces: z
    .strictObject({
      /** User and group IDs that each of them gets (userNamespaces.idsPerPod). */
      idsPerPod: z.int().positive().multipleOf(ID_UNIT).default(ID_UNIT),
    })
    .prefault({}),
  /** Pulls, credentials and removal of images. */
  images: imagesSchema.prefault({}),
  /** Events that one service may publish: per second (0: unlimited), and the burst (eventRecordQPS, eventBurst). */
  events: z
    .strictObject({ qps: z.number().nonnegative().default(50), burst: z.int().positive().default(100) })
    .prefault({}),
  /** The logs of containers. */
  logs: z
    .strictObject({
      /** Size in bytes from which a log is rotated (containerLogMaxSize). */
      maxSize: z
        .int()
        .positive()
        .default(10 * 1024 * 1024),
      /** Maximum number of files of a container's log, including rotated ones (containerLogMaxFiles). */
      maxFiles: z.int().min(2).default(5),
      /** How often the sizes are checked, in milliseconds (containerLogMonitorInterval). */
      monitorEveryMs: z.number().positive().default(10_000),
      /** Maximum number of logs that are rotated, and files that are compressed, at once (containerLogMaxWorkers). */
      workers: z.int().positive().default(1),
    })
    .prefault({}),
  /** Omitted: pods end with the machine (shutdownGracePeriod, shutdownGracePeriodByPodPriority). */
  shutdown: z
    .strictObject({
      /** How many seconds pods from each priority on get to end, lowest first. */
      periods: z.array(z.strictObject({ priority: z.int(), seconds: z.int().nonnegative() })).min(1),
      /** Keep and measure when the last shutdown began and ended. */
      keepTimes: z.boolean().default(true),
    })
    .optional(),
  /** DNS of pods; the defaults suit a node without a cluster. */
  dns: z
    .strictObject({
      /** Addresses of the cluster's DNS (clusterDNS). Empty: pods that request it get the node's resolv.conf. */
      servers: z.array(z.string()).default([]),
      /** The cluster's domain (clusterDomain). Empty: there is none. */
      domain: z.string().default('cluster.local'),
      /** The file from which pods get the node's own DNS configuration (resolvConf). Empty: they get none of it. */
      resolvConf: z.string().default('/etc/resolv.conf'),
    })
    .prefault({}),
});
export type NodeConfig = z.infer<typeof nodeConfigSchema>;

/** The instances of a service that share the pods until the launcher has published which are running. */
export function configuredShare({ instances }: Pick<NodeConfig, 'instances'>, service: SharedService): ServiceShare {
  const count = instances[service] ?? 1;
  return { instances: Array.from({ length: count }, (_, slot) => `${service}-${slot}`), term: 0 };
}

/** Thrown when the node's configuration cannot be read or is not valid; the message names the file and the field. */
export class ConfigError extends KubusError {}

/** A configuration in the form that a service uses. */
export interface ReadConfig {
  readonly config: NodeConfig;
  /**
   * Fields of the file that this version does not know, such as `pods.colour`: another version of the launcher may have
   * written them.
   */
  readonly unknown: readonly string[];
}

/** Log fields for them. */
export const unknownFields = 'the configuration has fields that this version does not know; they are ignored';

/** Reads and validates the file; the error names the file and every invalid field. */
export function readNodeConfig(path: string): ReadConfig {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError('bad-config', `${path}: ${toError(error).message}`, { cause: error, context: { path } });
  }
  const unknown = takeUnknown(document);
  const parsed = nodeConfigSchema.safeParse(document);
  if (parsed.success) return { config: parsed.data, unknown };
  const fields = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
  throw new ConfigError('bad-config', `${path}: ${fields}`, { context: { path } });
}

/** Removes the fields that the schema does not know from the document; returns their paths. */
function takeUnknown(document: unknown): string[] {
  const { issues = [] } = nodeConfigSchema.safeParse(document).error ?? {};
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const at = issue.path.reduce((value, name) => (value as Record<PropertyKey, unknown>)[name], document);
    for (const key of issue.keys) Reflect.deleteProperty(at as object, key);
    return issue.keys.map((key) => [...issue.path, key].join('.'));
  });
}
