import { type ServiceShare, type SharedService, parseQuantity, sharedServices } from '@kubus/contracts';
import { KubusError, toError } from '@kubus/ports';
import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** Quantities by the name of a resource, such as `cpu: 500m`. */
const resourcesSchema = z.record(
  z.string(),
  z.string().refine((text) => parseQuantity(text) !== undefined, 'is no quantity'),
);

/** What every service of a node is told at its start: one JSON file, written by the launcher or by hand. */
export const nodeConfigSchema = z.strictObject({
  /** Node name, a DNS subdomain. */
  node: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/),
  /** The node's addresses, the primary one first. */
  nodeIps: z.array(z.string()).default([]),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  nats: z.strictObject({
    url: z.string(),
    /** Folder with one nkey seed per identity, `<instance>.nk`, mode 0600. */
    identities: z.string(),
  }),
  /** Folder of the services' own state; one folder per service below it. */
  state: z.string(),
  /** How many instances there are of the services that share the pods. */
  instances: z.partialRecord(z.enum(sharedServices), z.number().int().positive()).default({}),
  /** Fixed HTTP ports by instance name; others are chosen by the system. */
  httpPorts: z.record(z.string(), z.number().int().min(0).max(65535)).default({}),
  manifests: z.strictObject({
    /** A file or a folder of static pods. */
    path: z.string(),
    /** How often it is read again without a change being seen, in milliseconds (fileCheckFrequency). */
    checkEveryMs: z.number().positive().default(20_000),
  }),
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
  }),
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
  reserved: z.strictObject({ system: resourcesSchema.default({}), kube: resourcesSchema.default({}) }).prefault({}),
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

/** Reads and checks the file; the error names the file and every wrong field. */
export function readNodeConfig(path: string): NodeConfig {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError('bad-config', `${path}: ${toError(error).message}`, { cause: error, context: { path } });
  }
  const parsed = nodeConfigSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
  throw new ConfigError('bad-config', `${path}: ${fields}`, { context: { path } });
}
