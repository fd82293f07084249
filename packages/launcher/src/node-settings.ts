import { ID_UNIT, sharedServices } from '@kubus/contracts';
import { type NodeConfig, nodeConfigSchema } from '@kubus/service-kit';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { runtimeHandler } from './containerd-config.ts';
import { natsAccess } from './nats-relay.ts';
import { nodeKubeconfig } from './api-relay.ts';
import { PRIVATE_NODE_IP } from './network-namespace.ts';
import type { Natives } from './natives.ts';
import { type NodeDir, apiSocket, observatorySocket } from './node-dir.ts';
import { POD_CIDR } from './pod-network.ts';

/** What a person chooses about a private node. Kept in its folder, so that a restarted launcher does the same. */
export const nodeSettingsSchema = z.object({
  /** A file or folder of static pods. */
  manifests: z.string(),
  /** A NATS server that is there already; left out, the node has its own. */
  nats: z.string().optional(),
  /** It is known by authorities of its own, whose file the node keeps. */
  natsCa: z.boolean().default(false),
  /** A hub to which the node's events go; the node keeps the credentials. */
  hub: z.string().optional(),
  /** It is known by authorities of its own, whose file the node keeps. */
  hubCa: z.boolean().default(false),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Services publish journals, from which their lives can be replayed. */
  journal: z.boolean().default(false),
  /** The node's credentials for an API server: a kubeconfig. Left out, the node is a member of no cluster. */
  kubeconfig: z.string().optional(),
  /** Another containerd than the machine's: its binary, or a folder. */
  containerd: z.string().optional(),
  /**
   * Services that the launcher does not start, because somebody else runs a program of their own in their place: with the
   * service's identity and with its slot in the state folder.
   */
  elsewhere: z.array(z.string()).default([]),
  /** The node records itself: it has the service `observatory`. */
  observatory: z.boolean().default(false),
  /** Folder of the observatory's page, and the file of the published contract; each may be missing. */
  page: z.string().optional(),
  contract: z.string().optional(),
  /** The first instance of every service runs in one process. */
  hosted: z.boolean().default(false),
  /** Messages can be disturbed on purpose, and services paused and killed. */
  faults: z.boolean().default(false),
  /** How many instances there are of the services that share the pods. */
  instances: z.partialRecord(z.enum(sharedServices), z.int().positive()).default({}),
  /** The bundled program of each service, and of the process that hosts them all. */
  programs: z.record(z.string(), z.string()),
  /** The images that the node has from the beginning, built beforehand. */
  images: z.array(z.object({ reference: z.string(), digest: z.string(), id: z.string(), archive: z.string() })),
  /** Where compiled programs are kept between nodes. */
  cache: z.string(),
});
export type NodeSettings = z.infer<typeof nodeSettingsSchema>;

export function settingsFile(dir: NodeDir): string {
  return join(dir.config, 'settings.json');
}

/** What was chosen when the node was started; undefined when there is no such node, or nothing that can be read. */
export async function readSettings(dir: NodeDir): Promise<NodeSettings | undefined> {
  try {
    return nodeSettingsSchema.parse(JSON.parse(await readFile(settingsFile(dir), 'utf8')));
  } catch {
    return undefined;
  }
}

export async function writeSettings(dir: NodeDir, settings: NodeSettings): Promise<void> {
  await writeFile(settingsFile(dir), JSON.stringify(settings), { mode: 0o600 });
}

/** The file that the services read at their start. */
export function nodeConfigFile(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'node.json');
}

/** Folder of the identities' secret keys. */
export function identitiesFolder(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'identities');
}

/** Writes what the services are told. */
export async function writeNodeConfig(
  dir: NodeDir,
  settings: NodeSettings,
  parts: { natives: Pick<Natives, 'relay' | 'streamRelay'>; plugins: string },
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
    httpPorts: {},
    manifests: { path: settings.manifests, checkEveryMs: 20_000 },
    ...cluster(dir, settings),
    server: server(dir, settings, parts.natives),
    ...observatory(dir, settings),
    nodeObject: nodeConfigSchema.shape.nodeObject.parse({}),
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
      podCidrs: [POD_CIDR],
    },
    objects: { socket: dir.socket('objects') },
    pods: {
      root: dir.pods,
      logs: dir.podLogs,
      logLinks: dir.logLinks,
      syncEveryMs: 60_000,
      cgroupDriver: 'cgroupfs',
      max: 110,
      unsafeSysctls: [],
    },
    labels: {},
    taints: [],
    reserved: { system: {}, kube: {}, evictionHard: {} },
    devices: { topologyPolicy: 'none', topologyScope: 'container' },
    userNamespaces: { idsPerPod: ID_UNIT },
    // Nobody could pull again what the node has from the beginning.
    images: nodeConfigSchema.shape.images.parse({ gc: { keep: settings.images.map(({ reference }) => reference) } }),
    events: { qps: 50, burst: 100 },
    logs: { maxSize: 10 * 1024 * 1024, maxFiles: 5, monitorEveryMs: 10_000, workers: 1 },
    dns: { servers: [], domain: 'cluster.local', resolvConf: '/etc/resolv.conf' },
  };
  await writeFile(nodeConfigFile(dir), `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}

/** What makes the node a member of its cluster. */
function cluster(dir: NodeDir, { kubeconfig }: NodeSettings): Partial<Pick<NodeConfig, 'apiServer' | 'nodeIps'>> {
  if (kubeconfig === undefined) return {};
  const apiServer = { kubeconfig: nodeKubeconfig(dir), certDir: certificates(dir) };
  return { apiServer: nodeConfigSchema.shape.apiServer.parse(apiServer), nodeIps: [PRIVATE_NODE_IP] };
}

/** What the node's observatory is told, where it has one. */
function observatory(dir: NodeDir, { observatory, page, contract }: NodeSettings): Pick<NodeConfig, 'observatory'> {
  if (!observatory) return {};
  const config = { socket: observatorySocket(dir), page, contract };
  return { observatory: nodeConfigSchema.shape.observatory.parse(config) };
}

/** Who is a member of no cluster has nobody to ask who may use the HTTPS API. */
function server(
  dir: NodeDir,
  { kubeconfig }: NodeSettings,
  { streamRelay }: Pick<Natives, 'streamRelay'>,
): NodeConfig['server'] {
  return nodeConfigSchema.shape.server.parse({
    socket: apiSocket(dir),
    streamRelay,
    ...(kubeconfig !== undefined && { port: 10_250 }),
    certDir: certificates(dir),
    // The node has no logs of its own there, but the machine is its machine.
    systemLogs: '/var/log',
  });
}

function certificates(dir: NodeDir): string {
  return join(dir.config, 'pki');
}
