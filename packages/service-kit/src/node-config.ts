import { ID_UNIT, type ServiceShare, type SharedService, parseQuantity, sharedServices } from '@kubus/contracts';
import { verificationPolicies } from '@kubus/image-manager';
import { KubusError, toError } from '@kubus/ports';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { serverSchema } from './server-config.ts';

/** Quantities by the name of a resource, such as `cpu: 500m`. */
const resourcesSchema = z.record(
  z.string(),
  z.string().refine((text) => parseQuantity(text) !== undefined, 'is no quantity'),
);

const percent = z.int().min(0).max(100);

/** Names in parentheses are those of the reference's KubeletConfiguration, or of its flag. */
const imagesSchema = z
  .strictObject({
    /** Pulls that may begin per second (registryPullQPS). 0: any number. */
    pullQps: z.number().nonnegative().default(5),
    /** Pulls that may begin at once after a quiet time (registryBurst). */
    pullBurst: z.int().positive().default(10),
    /** One pull after another (serializeImagePulls). Left out: yes, unless `maxParallel` is 2 or more. */
    serialize: z.boolean().optional(),
    /** Pulls at once where they are not serialized (maxParallelImagePulls). Left out: any number. */
    maxParallel: z.int().positive().optional(),
    /** Plugins that have credentials for registries. */
    providers: z
      .strictObject({
        /** A CredentialProviderConfig, or a folder of them (--image-credential-provider-config). */
        config: z.string(),
        /** Folder of the plugins (--image-credential-provider-bin-dir). */
        binDir: z.string(),
      })
      .optional(),
    /** Which images that are there a pod may use only with credentials that can pull them. */
    verification: z
      .strictObject({
        /** imagePullCredentialsVerificationPolicy */
        policy: z.enum(verificationPolicies).default('NeverVerifyPreloadedImages'),
        /** Names without tag, or beginnings that end with `/*` (preloadedImagesVerificationAllowlist). */
        allowlist: z.array(z.string()).default([]),
      })
      .prefault({}),
    /** When images are removed. Percentages are of the capacity of the file system that holds them. */
    gc: z
      .strictObject({
        /** imageGCHighThresholdPercent */
        highPercent: percent.default(85),
        /** imageGCLowThresholdPercent */
        lowPercent: percent.default(80),
        /** Milliseconds (imageMinimumGCAge). */
        minAgeMs: z.number().nonnegative().default(120_000),
        /** Milliseconds without use (imageMaximumGCAge). 0: age does not matter. */
        maxAgeMs: z.number().nonnegative().default(0),
        /** Images that are never removed: the runtime's sandbox image, where it does not pin that itself. */
        keep: z.array(z.string()).default([]),
      })
      .refine(({ highPercent, lowPercent }) => lowPercent < highPercent, {
        error: 'must be below highPercent',
        path: ['lowPercent'],
      })
      .prefault({}),
  })
  .refine(({ serialize, maxParallel = 1 }) => serialize !== true || maxParallel === 1, {
    error: 'must be 1 where serialize is true',
    path: ['maxParallel'],
  });

/** Kubernetes' Duration settings are milliseconds here; names in parentheses are those of the reference. */
const apiServerSchema = z.strictObject({
  /** The kubeconfig of the node's own credentials (--kubeconfig); may still have to be made by the bootstrap. */
  kubeconfig: z.string(),
  /** Requests of one service: per second, and at once after a rest (kubeAPIQPS, kubeAPIBurst). */
  qps: z.number().positive().default(50),
  burst: z.int().positive().default(100),
  /** Left out: the kubeconfig is there already. */
  bootstrap: z
    .strictObject({
      /** A kubeconfig whose user may ask for a client certificate (--bootstrap-kubeconfig). */
      kubeconfig: z.string(),
    })
    .optional(),
  /** Folder of the node's own certificates (--cert-dir). */
  certDir: z.string(),
  /** Renew the client certificate that `certDir` holds before it expires (rotateCertificates). */
  rotate: z.boolean().default(false),
});

/** How the node presents itself to the API server. */
const nodeObjectSchema = z.strictObject({
  /** Make the Node object where there is none (registerNode). */
  register: z.boolean().default(true),
  /** The new Node object takes pods (registerSchedulable). */
  schedulable: z.boolean().default(true),
  /** How often its state is looked at (nodeStatusUpdateFrequency). */
  statusEveryMs: z.number().positive().default(10_000),
  /** How often it is written without a change (nodeStatusReportFrequency). */
  reportEveryMs: z.number().positive().default(300_000),
  /** Seconds for which the lease holds (nodeLeaseDurationSeconds). */
  leaseSeconds: z.int().positive().default(40),
  /** Images that are listed; -1: all (nodeStatusMaxImages). */
  maxImages: z.int().min(-1).default(50),
  /** --provider-id / providerID */
  providerId: z.string().default(''),
  /** A cloud controller initializes the node (--cloud-provider=external). */
  externalCloud: z.boolean().default(false),
  /** The node's host name, where it is not the machine's (--hostname-override). */
  hostname: z.string().optional(),
  /** Make the packet filter's chains that other components look for (makeIPTablesUtilChains). */
  iptablesUtilChains: z.boolean().default(false),
  /** Volumes are attached by the cluster's controller (enableControllerAttachDetach). */
  controllerAttachDetach: z.boolean().default(true),
});

/** The node's record of itself. */
const observatorySchema = z.strictObject({
  /** Unix socket on which it answers the people of the machine. */
  socket: z.string(),
  /** Folder of the page's files. Left out: there is no page. */
  page: z.string().optional(),
  /** File of the published contract. Left out: it is not served. */
  contract: z.string().optional(),
  /** What `~live` keeps: bytes, and milliseconds. */
  liveBytes: z
    .int()
    .positive()
    .default(256 * 1024 * 1024),
  liveMs: z.number().positive().default(3_600_000),
  /** A recording that has become so large ends; also the largest file that is taken in. Bytes. */
  recordingBytes: z
    .int()
    .positive()
    .default(4 * 1024 * 1024 * 1024),
});

/** What every service of a node is told at its start: one JSON file, written by the launcher or by hand. */
export const nodeConfigSchema = z.strictObject({
  /** Node name, a DNS subdomain. */
  node: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/),
  /** The node's addresses, the primary one first. */
  nodeIps: z.array(z.string()).default([]),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Messages can be disturbed on purpose, and services paused and killed: see docs/experiments.md. */
  faults: z.boolean().default(false),
  /** Services publish journals, from which their lives can be replayed (docs/replay.md). */
  journal: z.boolean().default(false),
  nats: z.strictObject({
    /** `nats://HOST:PORT`, or `tls://HOST:PORT`. */
    url: z.string(),
    /** How the server of a `tls://` URL is known. */
    tls: z
      .strictObject({
        /** File of the authorities that are trusted, PEM; left out: those of the system. */
        ca: z.string().optional(),
        /** The name in its certificate, where it is reached under another one. */
        serverName: z.string().optional(),
      })
      .optional(),
    /** Folder with one nkey seed per identity, `<instance>.nk`, mode 0600. */
    identities: z.string(),
  }),
  /** Folder of the services' own state; one folder per service below it. */
  state: z.string(),
  /** How many instances there are of the services that share the pods. */
  instances: z.partialRecord(z.enum(sharedServices), z.number().int().positive()).default({}),
  /** Fixed HTTP ports by instance name; others are chosen by the system. */
  httpPorts: z.record(z.string(), z.number().int().min(0).max(65535)).default({}),
  /** Left out: the node has no static pods from files. */
  manifests: z
    .strictObject({
      /** A file or a folder of static pods (staticPodPath). */
      path: z.string(),
      /** How often it is read again without a change being seen, in milliseconds (fileCheckFrequency). */
      checkEveryMs: z.number().positive().default(20_000),
    })
    .optional(),
  /** Static pods from a web server. */
  manifestUrl: z
    .strictObject({
      /** staticPodURL */
      url: z.url({ protocol: /^https?$/ }),
      /** staticPodURLHeader; never to be logged. */
      headers: z.record(z.string(), z.array(z.string())).default({}),
      /** httpCheckFrequency, in milliseconds */
      checkEveryMs: z.number().positive().default(20_000),
    })
    .optional(),
  /** Left out: the node is a member of no cluster. */
  apiServer: apiServerSchema.optional(),
  nodeObject: nodeObjectSchema.prefault({}),
  /** Left out: the node has no HTTP API. */
  server: serverSchema.optional(),
  /** Left out: the node does not record itself. */
  observatory: observatorySchema.optional(),
  runtime: z.strictObject({
    /** Socket of the container runtime (CRI). */
    socket: z.string(),
    /** The holding relay's binary; without it a killed cri-bridge aborts its calls half way. */
    relay: z.string().optional(),
    /** Runtime handler whose CNI folder holds the shim; without it the runtime runs CNI itself. */
    handler: z.string().optional(),
    /** RunPodSandbox calls at once over all pods. */
    sandboxesAtOnce: z.number().int().positive().default(8),
    /** Cgroup below which the node's pods live, such as `/kubus-node0`. */
    cgroupRoot: z.string().default('/'),
  }),
  network: z.strictObject({
    /** Folder of the CNI configurations that cni-bridge runs. */
    configDir: z.string(),
    /** Where plugin binaries are looked for. */
    pluginDirs: z.array(z.string()).min(1),
    /** Socket on which the shim reaches cni-bridge. */
    socket: z.string(),
    /** Plugin chains at once over all pods. */
    chainsAtOnce: z.number().int().positive().default(8),
    /** Time limit of one plugin, in milliseconds. */
    pluginTimeoutMs: z.number().positive().default(30_000),
    /**
     * Process in whose mount and network namespaces plugins are run and looked for: 1, where cni-bridge is in a container and
     * plugins are those of the machine. Left out: they run where the runtime does.
     */
    namespacesOf: z.int().positive().optional(),
    /** Address ranges of the node's pods (podCIDRs). None: the CNI configuration has its own. */
    podCidrs: z.array(z.union([z.cidrv4(), z.cidrv6()], { error: 'is not a CIDR' })).default([]),
  }),
  /** Left out: the node has no object-cache, and its pods can not refer to objects of an API server. */
  objects: z
    .strictObject({
      /** Socket on which object-cache gives out what is in ConfigMaps and Secrets. */
      socket: z.string(),
    })
    .optional(),
  pods: z.strictObject({
    /** Folder of the pods' own files (the kubelet's root). */
    root: z.string(),
    /** Folder of the pods' logs. */
    logs: z.string(),
    /** Folder of links to the logs, where log collectors look. Left out: none are made. */
    logLinks: z.string().optional(),
    /** How long a pod that is in its desired state waits for its next look, in milliseconds (syncFrequency). */
    syncEveryMs: z.number().positive().default(60_000),
    /** Who makes cgroups, as the runtime is configured (cgroupDriver). */
    cgroupDriver: z.enum(['cgroupfs', 'systemd']).default('cgroupfs'),
    /** Pods that the node takes at most (maxPods). */
    max: z.int().nonnegative().default(110),
    /** Sysctls, or beginnings of names that end with `*`, that pods may set beside the safe ones (allowedUnsafeSysctls). */
    unsafeSysctls: z.array(z.string()).default([]),
    /** Processes and threads of a pod (podPidsLimit). Left out: not limited. */
    pidsLimit: z.int().positive().optional(),
  }),
  /** Labels of the node besides its name, system and architecture (--node-labels). */
  labels: z.record(z.string(), z.string()).default({}),
  /** What keeps pods that do not tolerate it from the node (registerWithTaints). */
  taints: z
    .array(
      z.strictObject({
        key: z.string(),
        value: z.string().optional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      }),
    )
    .default([]),
  /** What pods do not get of the machine, by resource (systemReserved, kubeReserved). */
  reserved: z
    .strictObject({
      system: resourcesSchema.default({}),
      kube: resourcesSchema.default({}),
      /** By signal: a quantity or a percentage of the capacity (evictionHard). */
      evictionHard: z.record(z.string(), z.string()).default({}),
    })
    .prefault({}),
  /** Devices that plugins have. */
  devices: z
    .strictObject({
      /** Which containers are refused because their devices would not be close to each other (topologyManagerPolicy). */
      topologyPolicy: z.enum(['none', 'best-effort', 'restricted', 'single-numa-node']).default('none'),
      /** Whether devices of each container are close to each other, or those of the whole pod (topologyManagerScope). */
      topologyScope: z.enum(['container', 'pod']).default('container'),
      /** Of sets with the same number of NUMA nodes the closest is taken (topologyManagerPolicyOptions, prefer-closest-numa-nodes). */
      preferClosestNodes: z.boolean().optional(),
      /** On a machine with more NUMA nodes nothing but the policy `none` is possible (topologyManagerPolicyOptions, max-allowable-numa-nodes). Default: 8. */
      mostNodes: z.int().min(8).optional(),
    })
    .prefault({}),
  /** Pods with users of their own. */
  userNamespaces: z
    .strictObject({
      /** User and group ids that each of them gets (userNamespaces.idsPerPod). */
      idsPerPod: z.int().positive().multipleOf(ID_UNIT).default(ID_UNIT),
    })
    .prefault({}),
  /** Pulls, credentials and removal of images. */
  images: imagesSchema.prefault({}),
  /** Events that one service may tell: per second (0: any number), and at once after a rest (eventRecordQPS, eventBurst). */
  events: z
    .strictObject({ qps: z.number().nonnegative().default(50), burst: z.int().positive().default(100) })
    .prefault({}),
  /** The logs of containers. */
  logs: z
    .strictObject({
      /** Bytes from which on a log is rotated (containerLogMaxSize). */
      maxSize: z
        .int()
        .positive()
        .default(10 * 1024 * 1024),
      /** Files that a container's log may have, rotated ones included (containerLogMaxFiles). */
      maxFiles: z.int().min(2).default(5),
      /** How often the sizes are looked at, in milliseconds (containerLogMonitorInterval). */
      monitorEveryMs: z.number().positive().default(10_000),
      /** Logs that are rotated, and files that are compressed, at once (containerLogMaxWorkers). */
      workers: z.int().positive().default(1),
    })
    .prefault({}),
  /** Name resolution of pods; what is left out suits a node without a cluster. */
  dns: z
    .strictObject({
      /** Addresses of the cluster's DNS (clusterDNS). None: pods that ask for it get the node's resolv.conf. */
      servers: z.array(z.string()).default([]),
      /** The cluster's domain (clusterDomain). Empty: there is none. */
      domain: z.string().default('cluster.local'),
      /** The file from which pods get the node's own name resolution (resolvConf). Empty: they get none of it. */
      resolvConf: z.string().default('/etc/resolv.conf'),
    })
    .prefault({}),
});
export type NodeConfig = z.infer<typeof nodeConfigSchema>;

/** The instances of a service that share the pods until somebody tells which of them live. */
export function configuredShare({ instances }: Pick<NodeConfig, 'instances'>, service: SharedService): ServiceShare {
  const count = instances[service] ?? 1;
  return { instances: Array.from({ length: count }, (_, slot) => `${service}-${slot}`), term: 0 };
}

export class ConfigError extends KubusError {}

/** A configuration as a service takes it. */
export interface ReadConfig {
  readonly config: NodeConfig;
  /** Fields of the file that this version does not know, such as `pods.colour`: another version of the launcher may have written them. */
  readonly unknown: readonly string[];
}

/** What is logged of them. */
export const unknownFields = 'the configuration has fields that this version does not know; they are ignored';

/** Reads and checks the file; the error names the file and every wrong field. */
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

/** Takes the fields that the schema does not know out of the document; returns their paths. */
function takeUnknown(document: unknown): string[] {
  const { issues = [] } = nodeConfigSchema.safeParse(document).error ?? {};
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const at = issue.path.reduce((value, name) => (value as Record<PropertyKey, unknown>)[name], document);
    for (const key of issue.keys) Reflect.deleteProperty(at as object, key);
    return issue.keys.map((key) => [...issue.path, key].join('.'));
  });
}
