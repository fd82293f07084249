import { cgroupMounts, moveProcesses } from '@kubus/cgroup';
import {
  type RunningCommand,
  makeTestFolder,
  removeTestFolder,
  runKubus,
  startCommand,
  startRuntime,
  testNode,
  removeLogLinks,
} from '@kubus/harness';
import { isReady } from '@kubus/kube-fixture';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { upInCluster } from '../cluster-bench-node.ts';
import { agentProcesses } from '../process-usage.ts';
import type { ControlPlane } from './control-plane.ts';
import { type GoProfile, readGoProfile } from './go-profile.ts';

/** A node agent under measurement, which has joined the cluster. */
export interface Agent {
  readonly node: string;
  /** Its processes now, by name. */
  processes(): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

/** Starts Kubus. @param flags of `kubus up` */
export async function startKubus(plane: ControlPlane, ...flags: string[]): Promise<Agent> {
  const folder = await makeTestFolder();
  const dir = testNode(folder);
  const stop = async () => {
    await runKubus(folder, ['down']).outcome;
    await removeTestFolder(folder);
  };
  try {
    await upInCluster(folder, plane.kubeconfig, flags);
    await plane.api.waitFor({ kind: 'Node', name: dir.node }, isReady);
    return { node: dir.node, processes: () => agentProcesses(dir), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The reference kubelet as an agent. */
export interface Kubelet extends Agent {
  /** Its own profile of its CPU over the next seconds. */
  profile(seconds: number): Promise<GoProfile>;
}

/** Starts the reference kubelet with a containerd of the same kind, in a network of its own. @param program its path */
export async function startKubelet(plane: ControlPlane, program: string): Promise<Kubelet> {
  const runtime = await startRuntime();
  const { node, root, cgroupRoot } = runtime.dir;
  const logs = join(root, 'kubelet-logs');
  let kubelet: RunningCommand | undefined;
  const stop = async () => {
    await kubelet?.end();
    await removeLogLinks(logs);
    await runtime.stop();
  };
  try {
    await runtime.reach(plane.port);
    // It does not make its topmost cgroup.
    await moveProcesses(await cgroupMounts(), cgroupRoot, []);
    const config = join(root, 'kubelet.json');
    await writeFile(config, JSON.stringify(kubeletConfig(runtime.socket, logs, cgroupRoot)));
    const folder = join(root, 'kubelet');
    const [file, ...args] = runtime.inside([
      program,
      ...[`--config=${config}`, `--kubeconfig=${plane.kubeconfig}`, `--hostname-override=${node}`],
      ...[`--root-dir=${folder}`, `--cert-dir=${join(folder, 'pki')}`, '--node-ip=10.88.0.1'],
    ]);
    kubelet = startCommand(file, args, {});
    const pid = kubelet.child.pid ?? 0;
    const ended = kubelet.outcome.then(({ stderr }) => {
      throw new Error(`the kubelet has ended:\n${stderr.slice(-4_000)}`);
    });
    await Promise.race([plane.api.waitFor({ kind: 'Node', name: node }, isReady), ended]);
    ended.catch(() => undefined);
    const profile = async (seconds: number) => {
      const path = join(root, 'profile');
      const url = `https://127.0.0.1:10250/debug/pprof/profile?seconds=${seconds}`;
      const [curl, ...words] = runtime.inside(['curl', '-sS', '--fail', '--insecure', '--output', path, url]);
      const { code, stderr } = await startCommand(curl, words, {}).outcome;
      if (code !== 0) throw new Error(`the kubelet gives no profile: ${stderr}`);
      return readGoProfile(await readFile(path));
    };
    return { node, processes: () => Promise.resolve(new Map([['kubelet', pid]])), profile, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function kubeletConfig(socket: string, podLogsDir: string, cgroupRoot: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot,
    containerRuntimeEndpoint: `unix://${socket}`,
    podLogsDir,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    maxPods: 250,
    resolvConf: '',
  };
}
