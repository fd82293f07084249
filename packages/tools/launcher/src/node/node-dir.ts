import { createHash } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LauncherError } from '../errors.ts';

/** The paths of one private node, all absolute. {@link createNodeDir} creates the folders. */
export interface NodeDir {
  readonly node: string;
  /** Everything that survives a reboot. Also the value of the node's mark on processes (see process-record.ts). */
  readonly root: string;
  /** Configuration of NATS and the services, with their keys, mode 0700. */
  readonly config: string;
  /** The state folder of one service, mode 0700. */
  readonly state: (service: string) => string;
  /** OCI archives of the node's images, and programs compiled for it. */
  readonly images: string;
  /** Logs of the services, NATS and containerd. */
  readonly logs: string;
  /** The kubelet root: volumes and termination messages of pods, by UID. */
  readonly pods: string;
  /** Logs of the containers: `<namespace>_<name>_<uid>/<container>/<attempt>.log`. */
  readonly podLogs: string;
  /** Links to the containers' logs for log collectors: `<pod>_<namespace>_<container>-<id>.log`. */
  readonly logLinks: string;
  readonly containerd: {
    readonly root: string;
    readonly state: string;
    readonly config: string;
    readonly log: string;
  };
  readonly cni: {
    /** The runtime's plugin folder; it contains only the shim, under its names. */
    readonly bin: string;
    /** CNI configuration that the runtime reads for pods of our handler. */
    readonly handlerConf: string;
    /** CNI configuration that the runtime reads for any other handler. Stays empty. */
    readonly defaultConf: string;
    /** The real CNI configuration, used by cni-bridge. */
    readonly networks: string;
    /** Data of the CNI plugins, such as address leases. */
    readonly data: string;
  };
  /** Everything that a reboot invalidates: sockets, the network namespace, process records. Mode 0700. */
  readonly run: string;
  /** The path of a unix socket by its name, short enough for bind(2). */
  readonly socket: (name: string) => string;
  /** The file that the node's network namespace is mounted on. */
  readonly networkNamespace: string;
  /** The file that the machine's network namespace is mounted on, if the node uses a server there. */
  readonly machineNamespace: string;
  /** Folder with one record per process that the launcher has started. */
  readonly processes: string;
  /** The node's cgroup in every hierarchy: `/kubus-<node>`. */
  readonly cgroupRoot: string;
}

/** The base folders of all nodes. */
export interface NodeDirOptions {
  /** Default: the environment variable KUBUS_LIB_DIR, or `/var/lib/kubus`. */
  readonly base?: string;
  /** Default: the environment variable KUBUS_RUN_DIR, or `/run/kubus`. Must be on a file system that a reboot empties. */
  readonly runBase?: string;
}

/** sun_path of a unix socket (unix(7)) holds 108 bytes with the closing zero. */
const longestSocketPath = 107;
/** The longest socket name in use: containerd adds `.ttrpc` to the path that it is given. */
const longestSocketName = 'containerd.sock.ttrpc';

/** The socket of the node's API for users of the machine. */
export function apiSocket(dir: Pick<NodeDir, 'socket'>): string {
  return dir.socket('api');
}

/** The socket of the node's observatory, if it has one. */
export function observatorySocket(dir: Pick<NodeDir, 'socket'>): string {
  return dir.socket('observatory');
}

/** The certificate of the authority of the node's own Kubernetes API, if it has one. */
export function kubeApiAuthority(dir: Pick<NodeDir, 'state'>): string {
  return join(dir.state('kube-api'), 'ca.crt');
}

/** The kubeconfig of the administrator of the node's own Kubernetes API, if it has one. */
export function adminKubeconfig(dir: Pick<NodeDir, 'config'>): string {
  return join(dir.config, 'admin.kubeconfig');
}

/** A DNS subdomain (RFC 1123), apart from its length. */
export const nodeNamePattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*';

/** Whether the name is valid for a node: a DNS subdomain (RFC 1123). */
export function isNodeName(name: string): boolean {
  return new RegExp(`^${nodeNamePattern}$`).test(name) && name.length <= 253;
}

/** What a node may be called, for messages about one that is not. */
export const nodeNameRule = 'use a DNS subdomain (lower-case letters, digits, "-" and ".")';

/** The base folders of all nodes, with their defaults. */
export function nodeBases(options: NodeDirOptions): Required<NodeDirOptions> {
  return {
    base: options.base ?? process.env['KUBUS_LIB_DIR'] ?? '/var/lib/kubus',
    runBase: options.runBase ?? process.env['KUBUS_RUN_DIR'] ?? '/run/kubus',
  };
}

/**
 * The layout of the node's folders. In the run folder a name that would make socket paths too long is cut and completed with a digest.
 *
 * @throws LauncherError `InvalidNodeName` when the name is not a DNS subdomain, `SocketPathTooLong` when `runBase` is too long.
 */
export function nodeDir(node: string, options: NodeDirOptions = {}): NodeDir {
  // This also keeps `..` and `/` out of paths that are removed later.
  if (!isNodeName(node)) {
    throw new LauncherError('InvalidNodeName', `Invalid node name "${node}": ${nodeNameRule}`);
  }
  const { base, runBase } = nodeBases(options);
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
      log: join(root, 'logs', 'containerd.log'),
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
      'The path of the run folder is too long for unix sockets: set KUBUS_RUN_DIR to a shorter one',
    );
  }
  return `${node.slice(0, Math.max(0, room - digest.length - 1))}-${digest}`.slice(-room);
}

/**
 * Creates the folders; harmless when they exist, except that their modes are set again. The root and containerd's folders are searchable by
 * others, because the first process of a pod with a user namespace reaches its root file system as an unprivileged user; private
 * folders are closed one level below.
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

/** Creates the folders that do not exist, and sets the modes of all. */
export async function makeFolders(folders: readonly (readonly [path: string, mode: number])[]): Promise<void> {
  for (const [path, mode] of folders) {
    await mkdir(path, { recursive: true });
    await chmod(path, mode);
  }
}
