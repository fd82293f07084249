import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeDir, makeFolders } from '../node/node-dir.ts';

/** The paths of a node that runs instead of the kubelet. */
export interface KubeletDir extends Pick<
  NodeDir,
  'node' | 'root' | 'config' | 'state' | 'run' | 'socket' | 'processes'
> {
  /** `--root-dir`, with the same content as the reference kubelet's. */
  readonly kubeletRoot: string;
  readonly cni: Pick<NodeDir['cni'], 'bin' | 'handlerConf'>;
  /** Where device plugins register, whatever `--root-dir` is: they know no other folder (behaviour:resource-managers, Device plugin). */
  readonly devicePlugins: string;
  /** A folder that stays empty, for paths that are not configured. */
  readonly nothing: string;
}

/**
 * The layout: Kubus' own files are in the folder `kubus` of the root folder, sockets in a folder of `/run/kubus` whose name is derived from
 * the root folder. Device plugins of the machine are found by the environment variable KUBUS_DEVICE_PLUGINS, or in
 * `/var/lib/kubelet/device-plugins`.
 *
 * @param runBase default: the environment variable KUBUS_RUN_DIR, or `/run/kubus`
 */
export function kubeletDir(
  node: string,
  kubeletRoot: string,
  runBase = process.env['KUBUS_RUN_DIR'] ?? '/run/kubus',
): KubeletDir {
  const root = join(kubeletRoot, 'kubus');
  // The "@" keeps it apart from the nodes of `kubus up`.
  const run = join(runBase, `kubelet@${createHash('sha256').update(kubeletRoot).digest('hex').slice(0, 8)}`);
  return {
    node,
    kubeletRoot,
    root,
    config: join(root, 'config'),
    state: (service) => join(root, 'state', service),
    cni: { bin: join(root, 'cni', 'bin'), handlerConf: join(root, 'cni', 'handler') },
    devicePlugins: process.env['KUBUS_DEVICE_PLUGINS'] ?? '/var/lib/kubelet/device-plugins',
    nothing: join(root, 'nothing'),
    run,
    socket: (name) => join(run, `${name}.sock`),
    processes: join(run, 'processes'),
  };
}

/** Creates the folders; harmless when they exist. */
export async function createKubeletDir(dir: KubeletDir, podLogs: string): Promise<void> {
  await makeFolders([
    [dir.kubeletRoot, 0o750],
    [dir.root, 0o711],
    [dir.config, 0o700],
    [dir.state('.'), 0o700],
    [dir.cni.bin, 0o755],
    [dir.cni.handlerConf, 0o755],
    [dir.nothing, 0o755],
    [dir.run, 0o700],
    [dir.processes, 0o700],
  ]);
  await mkdir(podLogs, { recursive: true, mode: 0o755 });
}
