import { dirname, join } from 'node:path';
import { type ServiceName, serviceOfInstance } from '@kubus/contracts';
import { hostProcess } from '@kubus/service-kit';
import { LauncherError } from '../errors.ts';
import { type NodeDir, type NodeDirOptions, nodeDir } from '../node/node-dir.ts';
import { isSharedProcess } from '../node/node-services.ts';

/** Which service serves each socket. The socket is in that service's folder, so that a container sees only the sockets it needs. */
const socketServers: Readonly<Record<string, ServiceName>> = {
  cni: 'cni-bridge',
  objects: 'object-cache',
  api: 'node-api',
  observatory: 'observatory',
};

/** The services that serve a socket. */
export const servers: ReadonlySet<ServiceName> = new Set(Object.values(socketServers));

/** The folder with the configuration of all services of a node in containers, in the node's own folder. */
export function sharedConfig(root: string): string {
  return join(root, 'containers', 'config');
}

/** The longest FOLDER with which `/run/kubus/FOLDER/control/volume-manager/volume-manager-0.sock.new` fits into sun_path, unix(7). */
const LONGEST_FOLDER = 32;

/** The paths of a node whose services run in containers: the same on the machine and in each container. */
export interface ContainerDir extends NodeDir {
  /** The folder with the configuration of all services. */
  readonly sharedConfig: string;
  /** The folder with the secret keys of one service, or of those that share a container, by the name of their process. */
  readonly identity: (service: string) => string;
  /** The file with the configuration of the NATS server. */
  readonly natsConfig: string;
  /** The folder of the NATS server's streams. */
  readonly natsData: string;
  /** The folder of the sockets that one service serves. */
  readonly sockets: (service: string) => string;
  /** The control socket of process 1 in the container of an instance, or of a process with several services. */
  readonly control: (process: string) => string;
  /** The folder in which node-agent keeps the cluster credentials that it has requested, for all services that need them. */
  readonly credentials: string;
  /** The node's own CNI plugins. */
  readonly plugins: string;
  /** The folder of the command line for users of the machine. */
  readonly tools: string;
}

/** Fixed paths inside the containers, see docs/containers.md. */
export const inContainer = {
  config: '/etc/kubus/config',
  identities: '/etc/kubus/identities',
  manifests: '/etc/kubus/manifests',
  overlay: '/etc/kubus/overlay/node.yaml',
  kubeconfig: '/etc/kubus/cluster/kubeconfig',
  /** The checkout's built programs, in the same places. */
  programs: '/usr/lib/kubus',
  natsData: '/data',
} as const;

/**
 * The layout. The name of the folders may differ from the node's, so that paths are known before the node's name is.
 *
 * @throws LauncherError `InvalidNodeName` when either name is not a DNS subdomain, `FolderTooLong`.
 */
export function containerDir(node: string, folder: string, options?: NodeDirOptions): ContainerDir {
  nodeDir(node, options);
  const dir = nodeDir(folder, options);
  if (folder.length > LONGEST_FOLDER) {
    const message = `The folder name ${folder} has more than ${LONGEST_FOLDER} characters: set KUBUS_FOLDER to a shorter one`;
    throw new LauncherError('FolderTooLong', message);
  }
  const shared = join(dir.root, 'containers');
  const sockets = (service: string) => join(dir.run, 'sockets', service);
  return {
    ...dir,
    node,
    sharedConfig: sharedConfig(dir.root),
    identity: (service) => join(shared, 'identities', service),
    natsConfig: join(shared, 'nats', 'nats.conf'),
    natsData: join(shared, 'nats-data'),
    sockets,
    control: (process) => {
      const socket = isSharedProcess(process) ? hostProcess : process;
      return join(dir.run, 'control', serviceOfInstance(process), `${socket}.sock`);
    },
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

/** Symbolic links for users of the machine, as path and target: to sockets where a private node has them, and to a node by its own name. */
export function linksOf(dir: ContainerDir): (readonly [path: string, target: string])[] {
  const sockets = ['api', 'observatory'].map((name) => [join(dir.run, `${name}.sock`), dir.socket(name)] as const);
  const own = [dir.root, dir.run].map((folder) => [join(dirname(folder), dir.node), folder] as const);
  return [...sockets, ...own.filter(([path, folder]) => path !== folder)];
}
