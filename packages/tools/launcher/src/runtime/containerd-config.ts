import { handlerWithShim } from '@kubus/cni-config';
import { pauseReference } from '@kubus/node-images';
import type { NodeDir } from '../node/node-dir.ts';

/**
 * The runtime handler of our pods. RunPodSandbox must always name it: a sandbox of any other handler uses the empty default CNI folder,
 * fails with "cni plugin not initialized", and cannot be removed for the same reason (containerd 1.6.20 and 2.1.9): it stays NotReady
 * until the runtime's state is removed.
 */
export const runtimeHandler = 'kubus';

/** What containerd's configuration depends on. */
export interface ContainerdConfigOptions {
  /** Major version of containerd. */
  readonly major: number;
  readonly dir: Pick<NodeDir, 'containerd' | 'cni' | 'socket'>;
  /** The OCI runtime. Default: runc from PATH. */
  readonly runc?: string;
  /** Folder of hosts.toml files for registries, read at each pull. Default: none. */
  readonly registryHosts?: string | undefined;
}

/**
 * containerd's configuration for a private node (docs/cri/config.md of containerd). Files of version 2 are for 1.x; 2.x
 * reads version 3, where the CRI plugin is split in two and some keys have moved.
 *
 * - Everything is in the node's folders, including the pods' network namespaces and runc's state, so that it is found after a crash.
 *   Only the sockets of the shims are outside (see shimSocket).
 * - `restrict_oom_score_adj`: without CAP_SYS_RESOURCE the kernel refuses scores below the runtime's own, and no sandbox
 *   starts.
 * - Our handler, and the handler of each RuntimeClass (runc), have their own CNI folder, separate from the default one.
 *   NetworkReady of CRI's Status covers the default folder only and stays false. The plugin folder is the same for all.
 *   `loopback` is run from it for every pod, at the same time as the handler's network, on 2.x as well
 *   (`use_internal_loopback` is off there): a file of that name must lie there or no sandbox starts. StopPodSandbox and
 *   RemovePodSandbox each call DEL for both. Tried on 1.6.20 and 2.1.9.
 * - cgroupfs (SystemdCgroup off): a pod's cgroup is the `cgroup_parent` of its sandbox, in every hierarchy. Without one
 *   it is made as /k8s.io/<id>, which no node owns.
 */
export function containerdConfig({ major, dir, runc = 'runc', registryHosts }: ContainerdConfigOptions): string {
  const tables = major >= 2 ? version3(dir, runc) : version2(dir, runc);
  if (registryHosts === undefined) return toml(tables);
  const images = major >= 2 ? 'plugins."io.containerd.cri.v1.images"' : 'plugins."io.containerd.grpc.v1.cri"';
  return toml([...tables, [`${images}.registry`, { config_path: registryHosts }]]);
}

function version2(dir: ContainerdConfigOptions['dir'], runc: string): Table[] {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return [
    [undefined, { version: 2, ...common(dir) }],
    ['grpc', { address: dir.socket('containerd') }],
    [
      cri,
      {
        sandbox_image: pauseReference,
        restrict_oom_score_adj: true,
        netns_mounts_under_state_dir: true,
        ...streaming,
      },
    ],
    [`${cri}.cni`, { bin_dir: dir.cni.bin, conf_dir: dir.cni.defaultConf }],
    ...handlers(`${cri}.containerd`, dir, runc),
  ];
}

function version3(dir: ContainerdConfigOptions['dir'], runc: string): Table[] {
  const runtime = 'plugins."io.containerd.cri.v1.runtime"';
  return [
    [undefined, { version: 3, ...common(dir) }],
    ['grpc', { address: dir.socket('containerd') }],
    ['plugins."io.containerd.cri.v1.images".pinned_images', { sandbox: pauseReference }],
    [runtime, { restrict_oom_score_adj: true, netns_mounts_under_state_dir: true }],
    ['plugins."io.containerd.grpc.v1.cri"', streaming],
    [`${runtime}.cni`, { bin_dirs: [dir.cni.bin], conf_dir: dir.cni.defaultConf }],
    ...handlers(`${runtime}.containerd`, dir, runc),
  ];
}

type Value = string | number | boolean | readonly string[];
type Table = readonly [name: string | undefined, entries: Readonly<Record<string, Value>>];

/** The plugins are those that reach outside of the node's folders: /opt/containerd, and NRI's socket in /var/run/nri. */
function common(dir: ContainerdConfigOptions['dir']): Record<string, Value> {
  return {
    root: dir.containerd.root,
    state: dir.containerd.state,
    disabled_plugins: ['io.containerd.internal.v1.opt', 'io.containerd.nri.v1.nri'],
  };
}

/** Exec, attach and port-forward: a port of the kernel's choice on the loopback of the node's network namespace. */
const streaming = { stream_server_address: '127.0.0.1', stream_server_port: '0' };

function handlers(containerd: string, dir: ContainerdConfigOptions['dir'], runc: string): Table[] {
  const options = { BinaryName: runc, Root: `${dir.containerd.state}/runc`, SystemdCgroup: false };
  const type = { runtime_type: 'io.containerd.runc.v2' };
  const withShim = { ...type, cni_conf_dir: dir.cni.handlerConf };
  const handler = (name: string, entries: Table[1]): Table[] => [
    [`${containerd}.runtimes.${name}`, entries],
    [`${containerd}.runtimes.${name}.options`, options],
  ];
  return [
    [containerd, { default_runtime_name: 'runc' }],
    ...handler('runc', type),
    ...handler(runtimeHandler, withShim),
    ...handler(handlerWithShim(runtimeHandler, 'runc'), withShim),
  ];
}

/** A JSON string, number, boolean or array of strings is the same text in TOML (but for \u escapes above U+FFFF). */
function toml(tables: readonly Table[]): string {
  return tables
    .map(([name, entries]) => {
      const lines = Object.entries(entries).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
      return [...(name === undefined ? [] : [`[${name}]`]), ...lines, ''].join('\n');
    })
    .join('\n');
}
