import { runtimeNetwork } from '@kubus/cni-config';
import {
  type RunningCommand,
  type TestRuntime,
  kubusProgram,
  poll,
  startCommand,
  startRuntime,
  testCache,
  removeLogLinks,
} from '@kubus/harness';
import { type NodeDir, POD_CIDR, endProcesses, findCniPlugins, findProcesses, podNetwork } from '@kubus/launcher';
import { callCriOnce, compileStatic } from '@kubus/node-images';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A machine with a container runtime, on which `kubus kubelet` is started as a service manager does it. */
export class KubeletMachine {
  readonly runtime: TestRuntime;
  /** Manifests, configuration, and the agent's root folder. */
  readonly folder: string;
  readonly #manager: RunningCommand;
  readonly #agents: RunningCommand[] = [];

  static async start(): Promise<KubeletMachine> {
    const runtime = await startRuntime({ prepareCni });
    const folder = machineFolder(runtime.dir);
    for (const name of ['manifests', 'conf.d', 'networks']) await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, 'networks/10-pods.conflist'), network(runtime.dir));
    const source = fileURLToPath(new URL('./notify-receiver.c', import.meta.url));
    const receiver = await compileStatic(source, testCache());
    const manager = startCommand(receiver, [join(folder, 'notify.sock')], {});
    await manager.waitForOutput(/listening/);
    return new KubeletMachine(runtime, manager);
  }

  private constructor(runtime: TestRuntime, manager: RunningCommand) {
    this.runtime = runtime;
    this.folder = machineFolder(runtime.dir);
    this.#manager = manager;
  }

  /** Writes a file below {@link folder} and returns its path. */
  async write(name: string, content: string | object): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  /** Writes the agent's configuration for this machine, with these further fields; returns the agent's flags. */
  async configure(fields: object = {}): Promise<string[]> {
    const { dir, socket } = this.runtime;
    const config = await this.write('kubelet.yaml', {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: 'manifests',
      podLogsDir: 'logs/pods',
      containerRuntimeEndpoint: `unix://${socket}`,
      failCgroupV1: false,
      failSwapOn: false,
      resolvConf: '',
      ...fields,
    });
    return [
      `--config=${config}`,
      `--cgroup-root=${dir.cgroupRoot}`,
      `--cert-dir=${join(this.folder, 'pki')}`,
      '--node-ip=10.88.0.1',
    ];
  }

  /** Starts `kubus kubelet` with these flags, on this machine and with a service manager. */
  kubelet(...flags: string[]): RunningCommand {
    const [program, ...args] = this.runtime.inside([
      process.execPath,
      kubusProgram,
      'kubelet',
      `--root-dir=${join(this.folder, 'kubelet')}`,
      ...flags,
    ]);
    const agent = startCommand(program, args, {
      KUBUS_RUN_DIR: join(this.folder, 'run'),
      // Not those of the machine: they may belong to a kubelet.
      KUBUS_DEVICE_PLUGINS: join(this.folder, 'kubelet/device-plugins'),
      NOTIFY_SOCKET: join(this.folder, 'notify.sock'),
      WATCHDOG_USEC: '100000',
    });
    this.#agents.push(agent);
    return agent;
  }

  /** The notifications of a process so far. */
  notifications(pid: number | undefined): string[] {
    const lines = this.#manager.written.stdout.split('\n').map((line) => /^(\d+) (.*)$/.exec(line));
    return lines.flatMap((match) => (match !== null && Number(match[1]) === pid ? [match[2] ?? ''] : []));
  }

  /** Resolves when the agent has notified the service manager of `text`; throws when the agent ends before. */
  async notified(agent: RunningCommand, text: string): Promise<void> {
    await poll(`notification ${text}`, () => {
      if (agent.child.exitCode !== null) throw new Error(`the agent ended without ${text}:\n${agent.written.stderr}`);
      return Promise.resolve(this.notifications(agent.child.pid).includes(text) || undefined);
    });
  }

  /** The ID of a running container of a pod whose name begins so, as soon as one exists. */
  containerOf(pod: string): Promise<string> {
    return poll(`a container of ${pod}`, async () => {
      const { containers = [] } = await callCriOnce(this.runtime.socket, 'ListContainers', {
        filter: { state: { state: 'CONTAINER_RUNNING' } },
      });
      return containers.find(({ labels }) => labels?.['io.kubernetes.pod.name']?.startsWith(pod) === true)?.id;
    });
  }

  /** Ends the agents that still run, and removes everything. */
  async remove(): Promise<void> {
    for (const agent of this.#agents) await agent.end();
    const root = join(this.folder, 'kubelet/kubus');
    await endProcesses(await findProcesses(root, join(root, 'none')), 1_000);
    await this.#manager.end();
    await removeLogLinks(join(this.folder, 'logs/pods'));
    await this.runtime.stop();
  }
}

/** A folder near the root of the test's folder, since paths of sockets have to be short. */
function machineFolder(dir: NodeDir): string {
  return join(dir.root, '../../machine');
}

/** The network of the runtime itself and of cni-bridge, which share the addresses. */
function network(dir: NodeDir): string {
  return podNetwork({ dataDir: dir.cni.data, subnet: POD_CIDR });
}

/** The runtime's own network, and beside it the handler of docs/kubelet.md whose plugin comes with the agent. */
async function prepareCni(dir: NodeDir): Promise<void> {
  const plugins = await findCniPlugins();
  for (const plugin of await readdir(plugins)) await symlink(join(plugins, plugin), join(dir.cni.bin, plugin));
  await symlink(join(machineFolder(dir), 'kubelet/kubus/cni/bin/kubus-cni'), join(dir.cni.bin, 'kubus-cni'));
  await writeFile(join(dir.cni.defaultConf, '10-pods.conflist'), network(dir));
  await writeFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork());
}
