import { ID_UNIT, sharedServices } from '@kubus/contracts';
import { type NodeConfig, nodeConfigSchema, placementSchema } from '@kubus/service-kit';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { runtimeHandler } from '../runtime/containerd-config.ts';
import { nodeIps } from '../kubelet/node-ips.ts';
import { HUB_PORT } from '../nats/hub.ts';
import { natsAccess } from '../nats/nats-relay.ts';
import { NATS_PORT } from '../nats/nats-server.ts';
import { API_PORT, nodeKubeconfig } from '../network/api-relay.ts';
import { API_SERVICE_IP, DNS_SERVICE_IP, PRIVATE_NODE_IP } from '../network/network-namespace.ts';
import type { Natives } from './natives.ts';
import { type NodeDir, apiSocket, kubeApiAuthority, observatorySocket } from './node-dir.ts';
import { isMember } from './node-services.ts';
import { privateConfigSchema, withPrivateConfig } from './private-config.ts';
import { BRIDGE, POD_CIDR } from '../network/pod-network.ts';

/**
 * How a private node's network namespace reaches others: `nat` through connections of the machine, `none` not at all, `host`: it is the
 * machine's.
 */
export const nodeNetworks = ['nat', 'none', 'host'] as const;

/** TCP ports of the loopback in the node's network namespace on which its programs listen; that of the node's HTTPS API is open on all addresses. */
const portsSchema = z.object({
  nats: z.int().default(NATS_PORT),
  /** Of the relay to the hub. */
  hub: z.int().default(HUB_PORT),
  /** Of the node's own Kubernetes API, or of the relay to a cluster's. */
  api: z.int().default(API_PORT),
  kubelet: z.int().default(10_250),
});

/** Where containerd's documentation has the hosts.toml files of registries. */
const REGISTRY_HOSTS = '/etc/containerd/certs.d';

/** Processes and threads that a pod may have: a fork bomb ends in its own pod. */
const POD_PIDS = 1_024;

/** The options of `kubus up`, kept in the node's folder so that a restarted launcher has them. */
export const nodeSettingsSchema = z.object({
  /** Path of the manifest file or folder. */
  manifests: z.string(),
  /** URL of an external NATS server. Default: the node has its own. */
  nats: z.string().optional(),
  /** Whether the node has its own CA certificates for it. */
  natsCa: z.boolean().default(false),
  /** URL of the hub to which the node's events go. */
  hub: z.string().optional(),
  /** Whether the node has its own CA certificates for it. */
  hubCa: z.boolean().default(false),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Whether services publish journals, for replays. */
  journal: z.boolean().default(false),
  /** Path of a kubeconfig. Default: the node is not a member of a cluster. */
  kubeconfig: z.string().optional(),
  /** Whether the node has a Kubernetes API of its own, of which it is a member. */
  api: z.boolean().default(false),
  /** The port of the machine's loopback on which users reach that API. */
  apiPort: z.int().min(1).max(65_535).optional(),
  /** Path of another containerd than the machine's: its binary, or a folder that contains it. */
  containerd: z.string().optional(),
  /**
   * Services that the launcher does not start, because the user runs programs instead of them, with the services' identities and slots.
   */
  elsewhere: z.array(z.string()).default([]),
  /** Whether the node has the service `observatory`. */
  observatory: z.boolean().default(false),
  /** Folder of the observatory's page, and file of the published contract; either may be missing. */
  page: z.string().optional(),
  contract: z.string().optional(),
  /** Which services share a process. */
  placement: placementSchema.default('separate'),
  /** Whether the node allows fault injection. */
  faults: z.boolean().default(false),
  /** Number of instances of the services that share the pods. */
  instances: z.partialRecord(z.enum(sharedServices), z.int().positive()).default({}),
  /** Path of the bundled program of each service, and of the host process. */
  programs: z.record(z.string(), z.string()),
  /** See {@link nodeNetworks}. */
  network: z.enum(nodeNetworks).default('none'),
  /** The bridge of the pods, and their CIDR. */
  bridge: z.string().default(BRIDGE),
  subnet: z.string().default(POD_CIDR),
  ports: portsSchema.prefault({}),
  /** Ports of the machine that lead to ports of the node, see parsePublishedPort. */
  publish: z.array(z.string()).default([]),
  /** Registries on the machine's loopback that the node reaches, see parseRegistry. */
  registries: z.array(z.string()).default([]),
  /** Folder of containerd's hosts.toml files: mirrors and settings of registries. */
  registryHosts: z.string().default(REGISTRY_HOSTS),
  /** What a KubeletConfiguration sets for the node. */
  config: privateConfigSchema.optional(),
  /** The images that are imported at the start. */
  images: z.array(z.object({ reference: z.string(), digest: z.string(), id: z.string(), archive: z.string() })),
  /** Folder in which compiled programs are kept for all nodes. */
  cache: z.string(),
});
/** See {@link nodeSettingsSchema}. */
export type NodeSettings = z.infer<typeof nodeSettingsSchema>;

/** The file that holds the node's settings. */
export function settingsFile(dir: NodeDir): string {
  return join(dir.config, 'settings.json');
}

/** The settings with which the node was started; undefined when there is no such node, or its file cannot be read. */
export async function readSettings(dir: NodeDir): Promise<NodeSettings | undefined> {
  try {
    return nodeSettingsSchema.parse(JSON.parse(await readFile(settingsFile(dir), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Replaces the node's settings. */
export async function writeSettings(dir: NodeDir, settings: NodeSettings): Promise<void> {
  await writeFile(settingsFile(dir), JSON.stringify(settings), { mode: 0o600 });
}

/** The configuration file that the services read at their start. */
export function nodeConfigFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'node.json');
}

/** The folder with the secret keys of the node's identities. */
export function identitiesFolder(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'identities');
}

/** Writes the configuration file of the services. */
export async function writeNodeConfig(
  dir: NodeDir,
  settings: NodeSettings,
  parts: {
    natives: Pick<Natives, 'relay' | 'streamRelay' | 'mountHelper' | 'mallocTrim'>;
    plugins: string;
    resolvConf: string;
  },
): Promise<void> {
  const config: NodeConfig = {
    node: dir.node,
    nodeIps: [],
    logLevel: settings.logLevel,
    faults: settings.faults,
    journal: settings.journal,
    nats: { ...natsAccess(dir, settings), identities: identitiesFolder(dir) },
    state: join(dir.root, 'state'),
    instances: settings.instances,
    placement: settings.placement,
    httpPorts: {},
    mallocTrim: parts.natives.mallocTrim,
    manifests: { path: settings.manifests, checkEveryMs: 20_000 },
    ...(await cluster(dir, settings)),
    server: server(dir, settings, parts.natives),
    ...observatory(dir, settings),
    // Host ports make the kernel accept packets for the loopback from pods; the chains drop them. On the machine's network they would be those of a
    // kubelet, and the node has a rule of its own.
    nodeObject: nodeConfigSchema.shape.nodeObject.parse({ iptablesUtilChains: settings.network !== 'host' }),
    runtime: {
      socket: dir.socket('containerd'),
      relay: parts.natives.relay,
      handler: runtimeHandler,
      sandboxesAtOnce: 8,
      cgroupRoot: dir.cgroupRoot,
    },
    network: {
      configDir: dir.cni.networks,
      pluginDirs: [parts.plugins],
      socket: dir.socket('cni'),
      chainsAtOnce: 8,
      pluginTimeoutMs: 30_000,
      podCidrs: [settings.subnet],
      wayOut: settings.network === 'host' ? undefined : settings.network,
    },
    objects: { socket: dir.socket('objects') },
    pods: {
      root: dir.pods,
      logs: dir.podLogs,
      logLinks: dir.logLinks,
      mountHelper: parts.natives.mountHelper,
      projectQuotas: false,
      syncEveryMs: 60_000,
      cgroupDriver: 'cgroupfs',
      cpuQuota: true,
      cpuPeriodUs: 100_000,
      singleProcessOomKill: false,
      swapBehavior: 'NoSwap',
      max: 110,
      unsafeSysctls: [],
      seccompDefault: false,
      pidsLimit: POD_PIDS,
      deadContainers: nodeConfigSchema.shape.pods.shape.deadContainers.parse({}),
    },
    labels: {},
    taints: [],
    reserved: { system: {}, kube: {}, evictionHard: {}, enforce: ['pods'], systemCgroup: '', kubeCgroup: '' },
    // Its machine is shared with other programs, whose disks and memory may be full for good.
    eviction: {
      ...{ hard: {}, soft: {}, softGracePeriod: {}, minimumReclaim: {} },
      ...{ ofAllocatable: false, transitionMs: 300_000, maxPodGraceSeconds: 0, storageLimits: true },
    },
    systemCgroups: nodeConfigSchema.shape.systemCgroups.parse({}),
    devices: { topologyPolicy: 'none', topologyScope: 'container' },
    exclusive: nodeConfigSchema.shape.exclusive.parse({}),
    userNamespaces: { idsPerPod: ID_UNIT },
    // The imported images exist in no registry, so they must not be collected.
    images: nodeConfigSchema.shape.images.parse({ gc: { keep: settings.images.map(({ reference }) => reference) } }),
    events: { qps: 50, burst: 100 },
    logs: { maxSize: 10 * 1024 * 1024, maxFiles: 5, monitorEveryMs: 10_000, workers: 1 },
    dns: { servers: dnsOf(settings), domain: 'cluster.local', resolvConf: parts.resolvConf },
  };
  const given = withPrivateConfig(config, settings.config);
  await writeFile(nodeConfigFile(dir), `${JSON.stringify(given, undefined, 2)}\n`, { mode: 0o600 });
}

/** The configuration of a member of a cluster. */
async function cluster(
  dir: NodeDir,
  settings: NodeSettings,
): Promise<Partial<Pick<NodeConfig, 'apiServer' | 'kubeApi' | 'nodeIps'>>> {
  if (!isMember(settings)) return {};
  const apiServer = { kubeconfig: nodeKubeconfig(dir), certDir: certificates(dir) };
  return {
    apiServer: nodeConfigSchema.shape.apiServer.parse(apiServer),
    nodeIps: settings.network === 'host' ? await nodeIps('') : [PRIVATE_NODE_IP],
    ...(settings.api && { kubeApi: kubeApiOf(settings) }),
  };
}

/** On the machine's network, pods do not reach the API: an address for it would be one of the machine. */
function kubeApiOf({ network, ports }: NodeSettings): NodeConfig['kubeApi'] {
  const addresses = { serviceAddress: API_SERVICE_IP, dnsAddress: DNS_SERVICE_IP };
  return { port: ports.api, ...(network !== 'host' && addresses) };
}

/** The resolver of pods, for names of services and pods; a configuration of the user may name another. */
function dnsOf({ api, network }: NodeSettings): string[] {
  return api && network !== 'host' ? [DNS_SERVICE_IP] : [];
}

/** The configuration of the node's observatory, if it has one. */
function observatory(dir: NodeDir, { observatory, page, contract }: NodeSettings): Pick<NodeConfig, 'observatory'> {
  if (!observatory) return {};
  const config = { socket: observatorySocket(dir), page, contract };
  return { observatory: nodeConfigSchema.shape.observatory.parse(config) };
}

/** Without a cluster there is no HTTPS API, since nothing could authenticate its clients. */
function server(
  dir: NodeDir,
  settings: NodeSettings,
  { streamRelay }: Pick<Natives, 'streamRelay'>,
): NodeConfig['server'] {
  return nodeConfigSchema.shape.server.parse({
    socket: apiSocket(dir),
    streamRelay,
    ...(isMember(settings) && { port: settings.ports.kubelet }),
    // Its port is that of a kubelet.
    ...(settings.network === 'host' && { healthz: { port: 0 } }),
    ...(settings.api && { authentication: { clientCaFile: kubeApiAuthority(dir) } }),
    certDir: certificates(dir),
    // The system logs of the machine.
    systemLogs: '/var/log',
  });
}

function certificates(dir: NodeDir): string {
  return join(dir.config, 'pki');
}
