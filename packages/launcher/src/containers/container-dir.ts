import { dirname, join } from 'node:path';
import type { ServiceName } from '@kubus/contracts';
import { LauncherError } from '../errors.ts';
import { type NodeDir, type NodeDirOptions, nodeDir } from '../node-dir.ts';
import { serviceOf } from '../service-processes.ts';

/** The socket of each name is in the folder of the one who serves it: a container sees the sockets that it needs. */
const socketServers: Readonly<Record<string, ServiceName>> = {
  cni: 'cni-bridge',
  objects: 'object-cache',
  api: 'node-api',
  observatory: 'observatory',
};

/** Services that serve a socket. */
export const servers: ReadonlySet<ServiceName> = new Set(Object.values(socketServers));

/** `/run/kubus/FOLDER/control/volume-manager/volume-manager-0.sock.new` has to fit into sun_path of a socket, unix(7). */
const LONGEST_FOLDER = 32;

/** Where things of a node lie whose services run in containers: the same paths on the machine and in each of them. */
export interface ContainerDir extends NodeDir {
  /** What the services of all containers are told. */
  readonly sharedConfig: string;
  /** The folder of one service's secret keys. */
  readonly identity: (service: string) => string;
  /** The configuration of the NATS server. */
  readonly natsConfig: string;
  /** The folder of the sockets that one service serves. */
  readonly sockets: (service: string) => string;
  /** The socket on which process 1 of the instance's container is spoken to. */
  readonly control: (instance: string) => string;
  /** The credentials of a member of a cluster that the node has asked for itself: those of node-agent, for all that need them. */
  readonly credentials: string;
  /** Plugins that were put there for the node. */
  readonly plugins: string;
  /** The command line for the people of the machine. */
  readonly tools: string;
}

/** Where containers find what they are told, see docs/containers.md. */
export const inContainer = {
  config: '/etc/kubus/config',
  identities: '/etc/kubus/identities',
  manifests: '/etc/kubus/manifests',
  overlay: '/etc/kubus/overlay/node.yaml',
  /** The checkout's built programs, in the same places. */
  programs: '/usr/lib/kubus',
  natsData: '/data',
} as const;

/**
 * The layout. The folders' name need not be the node's, so that paths can be known before it is.
 *
 * @throws LauncherError `InvalidNodeName` when either is no DNS subdomain, `FolderTooLong`.
 */
export function containerDir(node: string, folder: string, options?: NodeDirOptions): ContainerDir {
  nodeDir(node, options);
  const dir = nodeDir(folder, options);
  if (folder.length > LONGEST_FOLDER) {
    const message = `The folder ${folder} has more than ${LONGEST_FOLDER} letters: choose a shorter one by KUBUS_FOLDER`;
    throw new LauncherError('FolderTooLong', message);
  }
  const shared = join(dir.root, 'containers');
  const sockets = (service: string) => join(dir.run, 'sockets', service);
  return {
    ...dir,
    node,
    sharedConfig: join(shared, 'config'),
    identity: (service) => join(shared, 'identities', service),
    natsConfig: join(shared, 'nats', 'nats.conf'),
    sockets,
    control: (instance) => join(dir.run, 'control', serviceOf(instance), `${instance}.sock`),
    socket: (name) => join(socketFolder(name, dir.run, sockets), `${name}.sock`),
    credentials: join(dir.root, 'credentials'),
    plugins: join(dir.root, 'cni', 'plugins'),
    tools: dir.root,
  };
}

function socketFolder(name: string, run: string, sockets: (service: string) => string): string {
  const server = socketServers[name];
  return server === undefined ? join(run, name) : sockets(server);
}

/** Links by which people find a socket where a private node has it, and a node by its own name: path and what it leads to. */
export function linksOf(dir: ContainerDir): (readonly [path: string, target: string])[] {
  const sockets = ['api', 'observatory'].map((name) => [join(dir.run, `${name}.sock`), dir.socket(name)] as const);
  const own = [dir.root, dir.run].map((folder) => [join(dirname(folder), dir.node), folder] as const);
  return [...sockets, ...own.filter(([path, folder]) => path !== folder)];
}
