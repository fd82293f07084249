import { createHash } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from './errors.ts';

/** Where things of one private node lie. All paths are absolute; nothing here is made by asking for it. */
export interface NodeDir {
  readonly node: string;
  /** All that outlives a reboot. Also the node's mark on processes (see process-record.ts). */
  readonly root: string;
  /** Configuration of NATS and the services, identities included: 0700. */
  readonly config: string;
  /** The folder of one service's records: 0700. */
  readonly state: (service: string) => string;
  /** OCI archives of the node's images, and programs compiled for it. */
  readonly images: string;
  /** What the services, NATS and containerd write about themselves. */
  readonly logs: string;
  /** The kubelet root: volumes and termination messages of pods, by UID. */
  readonly pods: string;
  /** What containers write: `<namespace>_<name>_<uid>/<container>/<attempt>.log`. */
  readonly podLogs: string;
  /** Links to them, as log collectors expect them: `<pod>_<namespace>_<container>-<id>.log`. */
  readonly logLinks: string;
  readonly containerd: {
    readonly root: string;
    readonly state: string;
    readonly config: string;
  };
  readonly cni: {
    /** The runtime's plugin folder: the shim under its names, and nothing else. */
    readonly bin: string;
    /** What the runtime reads for pods of our handler. */
    readonly handlerConf: string;
    /** What the runtime reads for pods of any other handler. Stays empty. */
    readonly defaultConf: string;
    /** The real networks, run by cni-bridge. */
    readonly networks: string;
    /** Plugin data (address leases) of those networks. */
    readonly data: string;
  };
  /** All that a reboot makes void: sockets, the network namespace, process records. 0700. */
  readonly run: string;
  /** The path of a unix socket by its name, short enough to be bound. */
  readonly socket: (name: string) => string;
  /** The file that the node's network namespace is mounted on. */
  readonly networkNamespace: string;
  /** The file that the machine's own network namespace is mounted on, if the node uses a NATS server there. */
  readonly machineNamespace: string;
  /** One record per process that the launcher started. */
  readonly processes: string;
  /** The node's cgroup in every hierarchy: `/kubus-<node>`. */
  readonly cgroupRoot: string;
}

export interface NodeDirOptions {
  /** Default: the environment variable KUBUS_LIB_DIR, or `/var/lib/kubus`. */
  readonly base?: string;
  /** Default: KUBUS_RUN_DIR, or `/run/kubus`; on a file system that a reboot empties. */
  readonly runBase?: string;
}

/** sun_path of a unix socket (unix(7)) holds 108 bytes with the closing zero. */
const longestSocketPath = 107;
/** The longest socket name in use: containerd adds `.ttrpc` to the path that it is given. */
const longestSocketName = 'containerd.sock.ttrpc';

/** The socket on which the node's API answers the people of the machine. */
export function apiSocket(dir: Pick<NodeDir, 'socket'>): string {
  return dir.socket('api');
}

/** The socket on which its observatory answers them, where it has one. */
export function observatorySocket(dir: Pick<NodeDir, 'socket'>): string {
  return dir.socket('observatory');
}

/** Whether a node can have that name: it has to be a DNS subdomain (RFC 1123). */
export function isNodeName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name) && name.length <= 253;
}

/**
 * The layout of the node's folders. A name that would make socket paths too long is cut and completed with a digest in
 * the run folder, so that two such nodes still differ.
 *
 * @throws LauncherError `InvalidNodeName` when the name is no DNS subdomain, `SocketPathTooLong` when `runBase` leaves no
 * room for any name.
 */
export function nodeDir(node: string, options: NodeDirOptions = {}): NodeDir {
  // Also keeps `..` and `/` out of paths that are removed later.
  if (!isNodeName(node)) {
    throw new LauncherError(
      'InvalidNodeName',
      `Node name "${node}" must be a DNS subdomain: lower case, digits, "-" and "."`,
    );
  }
  const base = options.base ?? process.env['KUBUS_LIB_DIR'] ?? '/var/lib/kubus';
  const runBase = options.runBase ?? process.env['KUBUS_RUN_DIR'] ?? '/run/kubus';
  const root = join(base, node);
  const run = join(
    runBase,
    shortName(node, longestSocketPath - Buffer.byteLength(join(runBase, '/', longestSocketName)) - 1),
  );
  return {
    node,
    root,
    config: join(root, 'config'),
    state: (service) => join(root, 'state', service),
    images: join(root, 'images'),
    logs: join(root, 'logs'),
    pods: join(root, 'pods'),
    podLogs: join(root, 'pod-logs'),
    logLinks: join(root, 'log-links'),
    containerd: {
      root: join(root, 'containerd', 'root'),
      state: join(root, 'containerd', 'state'),
      config: join(root, 'containerd', 'config.toml'),
    },
    cni: {
      bin: join(root, 'cni', 'bin'),
      handlerConf: join(root, 'cni', 'handler'),
      defaultConf: join(root, 'cni', 'default'),
      networks: join(root, 'cni', 'networks'),
      data: join(root, 'cni', 'data'),
    },
    run,
    socket: (name) => join(run, `${name}.sock`),
    networkNamespace: join(run, 'net'),
    machineNamespace: join(run, 'machine-net'),
    processes: join(run, 'processes'),
    cgroupRoot: `/kubus-${node}`,
  };
}

function shortName(node: string, room: number): string {
  if (Buffer.byteLength(node) <= room) {
    return node;
  }
  const digest = createHash('sha256').update(node).digest('hex').slice(0, 8);
  if (room < digest.length) {
    throw new LauncherError(
      'SocketPathTooLong',
      'The run folder has too long a path for unix sockets: choose a shorter one',
    );
  }
  return `${node.slice(0, Math.max(0, room - digest.length - 1))}-${digest}`.slice(-room);
}

/**
 * Makes the folders. Harmless when they are there; their modes are set again. The root and containerd's folders can be
 * walked through by others, because the first process of a pod with a user namespace reaches its root file system as an
 * unprivileged user; what must stay private is closed one level below.
 */
export async function createNodeDir(dir: NodeDir): Promise<void> {
  const folders: (readonly [path: string, mode: number])[] = [
    [dir.root, 0o711],
    [dir.config, 0o700],
    [dir.state('.'), 0o700],
    [dir.images, 0o700],
    [dir.logs, 0o755],
    [dir.pods, 0o711],
    [dir.podLogs, 0o755],
    [dir.logLinks, 0o755],
    [join(dir.containerd.config, '..'), 0o711],
    [dir.containerd.root, 0o711],
    [dir.containerd.state, 0o711],
    ...Object.values(dir.cni).map((path) => [path, 0o755] as const),
    [dir.run, 0o700],
    [dir.processes, 0o700],
  ];
  await makeFolders(folders);
}

/** Makes folders that may be there, and sets their modes in any case. */
export async function makeFolders(folders: readonly (readonly [path: string, mode: number])[]): Promise<void> {
  for (const [path, mode] of folders) {
    await mkdir(path, { recursive: true });
    await chmod(path, mode);
  }
}
