import {
  DockerEngine,
  type DockerPrograms,
  type RunningCommand,
  kubusProgram,
  makeNodeImages,
  makeTestFolder,
  nodeImages,
  poll,
  removeTestFolder,
  startCommand,
  testCache,
  testImages,
} from '@kubus/harness';
import { TestApiServer, type TestApiServerOptions, isReady, nodeUser } from '@kubus/kube-fixture';
import {
  compileNatives,
  containerdConfig,
  findCniPlugins,
  findContainerd,
  freePort,
  removeCgroupRoot,
} from '@kubus/launcher';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The usual folder of a runtime; this machine has such folders of its own. */
const CONTAINERD = '/run/containerd';
const SOCKET = `${CONTAINERD}/containerd.sock`;

/** The network of this process, as a file. */
const OWN_NETWORK = `/proc/${process.pid}/ns/net`;
/** An address in a network without any other machine. */
const ADDRESS = '192.0.2.10';

/**
 * A machine of a cluster with a kubelet and a container runtime at their usual paths, on which a DaemonSet's pods run. The
 * kubelet is `kubus kubelet`; the API server is the test API server, in this process. The runtime has the images of a node of
 * containers.
 */
export class ClusterMachine {
  readonly engine: DockerEngine;
  readonly api: TestApiServer;
  /** The name of the kubelet's Node object. */
  readonly name: string;
  /** The kubeconfig of the cluster's administrator. */
  readonly kubeconfig: string;
  readonly #folder: string;
  readonly #started: RunningCommand[] = [];
  /** TCP ports of the test's own loopback, by the machine's port that each leads to. */
  readonly #ports = new Map<number, Promise<number>>();

  /** @throws HarnessError `NoDocker` when no engine can run on this machine. */
  static async start(programs: DockerPrograms, options: TestApiServerOptions): Promise<ClusterMachine> {
    const folder = await makeTestFolder();
    const engine = await DockerEngine.start(programs, folder).catch(async (error: unknown) => {
      await removeTestFolder(folder);
      throw error;
    });
    const made: { machine?: ClusterMachine } = {};
    const api = await TestApiServer.start({
      ...options,
      // The Node object has the port of the node's API; its address can be reached only in the machine's network.
      kubelet: async ({ status }) => {
        const endpoints = status?.['daemonEndpoints'] as { kubeletEndpoint: { Port: number } } | undefined;
        if (endpoints === undefined) throw new Error('the node has no endpoint yet');
        return { host: '127.0.0.1', port: (await made.machine?.expose(endpoints.kubeletEndpoint.Port)) ?? 0 };
      },
    });
    const kubeconfig = await api.kubeconfig();
    const machine = new ClusterMachine({ folder, engine, api, kubeconfig });
    made.machine = machine;
    try {
      await machine.#startRuntime();
      await machine.#takeImages();
      await machine.#startKubelet();
      return machine;
    } catch (error) {
      await machine.stop();
      throw error;
    }
  }

  private constructor(parts: { folder: string; engine: DockerEngine; api: TestApiServer; kubeconfig: string }) {
    this.#folder = parts.folder;
    this.engine = parts.engine;
    this.api = parts.api;
    this.kubeconfig = parts.kubeconfig;
    this.name = `machine-${parts.folder.slice(parts.folder.lastIndexOf('-') + 1)}`;
  }

  /** The name of the folders and the cgroup of a node that a test creates on the machine. */
  get guest(): string {
    return `guest-${this.name.slice('machine-'.length)}`;
  }

  /**
   * The PID of a container's process 1, on the machine; undefined when it is not running.
   *
   * @param container its ID as in a pod's status
   * @param socket of its runtime. Default: that of the machine
   */
  async processOf(container: string, socket = SOCKET): Promise<number | undefined> {
    const lines = (await this.#ctr(socket, 'tasks', 'list')).split('\n').map((line) => line.split(/\s+/));
    const [, pid, state] = lines.find(([id]) => container.endsWith(`//${id}`)) ?? [];
    return state === 'RUNNING' ? Number(pid) : undefined;
  }

  /** Returns a TCP port of the test's own loopback that leads to one of the machine's. */
  expose(port: number): Promise<number> {
    const known = this.#ports.get(port) ?? this.#relayTo(port);
    this.#ports.set(port, known);
    return known;
  }

  async stop(): Promise<void> {
    // This ends the runtime and the kubelet, too: they are in its namespaces.
    await this.engine.stop();
    for (const one of this.#started) await one.end();
    await this.api.close();
    for (const name of [this.name, this.guest]) await removeCgroupRoot(`/kubus-${name}`);
    await removeTestFolder(this.#folder);
  }

  #ctr(socket: string, ...args: readonly string[]): Promise<string> {
    return this.engine.onMachine('ctr', '--address', socket, '--namespace', 'k8s.io', ...args);
  }

  async #startRuntime(): Promise<void> {
    const { engine } = this;
    await engine.onMachine('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'nowhere');
    await engine.onMachine('ip', 'link', 'set', 'nowhere', 'up');
    await engine.onMachine('ip', 'address', 'add', `${ADDRESS}/24`, 'dev', 'eth0');
    await engine.onMachine('ip', 'link', 'set', 'eth0', 'up');
    await engine.onMachine('ip', 'route', 'add', 'default', 'via', '192.0.2.1');
    const networks = join(this.#folder, 'networks');
    await mkdir(networks);
    const ipam = { type: 'host-local', ranges: [[{ subnet: '10.99.0.0/16' }]], dataDir: '/var/lib/cni' };
    const bridge = { type: 'bridge', bridge: 'machine0', isGateway: true, ipam };
    await writeFile(
      join(networks, '10-machine.conflist'),
      JSON.stringify({ cniVersion: '1.0.0', name: 'machine', plugins: [bridge] }),
    );
    const { major, containerd } = await findContainerd(undefined);
    const bin = await findCniPlugins();
    const dir = {
      containerd: { root: '/var/lib/containerd', state: CONTAINERD, config: '', log: '' },
      cni: { bin, defaultConf: networks, handlerConf: networks, networks, data: '' },
      socket: () => SOCKET,
    };
    const config = join(this.#folder, 'containerd.toml');
    await writeFile(config, containerdConfig({ major, dir }));
    this.#start(engine.inside([containerd, '--config', config]));
    await poll('the runtime of the machine', () => this.#ctr(SOCKET, 'version').catch(() => undefined));
  }

  async #takeImages(): Promise<void> {
    await makeNodeImages(this.engine, this.#folder);
    const archive = join(this.#folder, 'images.tar');
    await this.engine.docker(['save', '--output', archive, ...Object.values(nodeImages)]);
    for (const path of [archive, ...(await testImages()).map((image) => image.archive)]) {
      await this.#ctr(SOCKET, 'images', 'import', path);
    }
    await rm(archive);
  }

  async #startKubelet(): Promise<void> {
    await this.#relay(this.engine.network, this.api.port, OWN_NETWORK, this.api.port);
    const config = join(this.#folder, 'kubelet.yaml');
    const kubelet = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: `unix://${SOCKET}`,
      failCgroupV1: false,
      failSwapOn: false,
      cgroupRoot: `/kubus-${this.name}`,
      authentication: { x509: { clientCAFile: join(this.#folder, 'client-ca.crt') } },
    };
    await writeFile(kubelet.authentication.x509.clientCAFile, this.api.authority.certificate);
    await writeFile(config, JSON.stringify(kubelet));
    const kubeconfig = await this.api.kubeconfig(nodeUser(this.name));
    const flags = [`--config=${config}`, `--kubeconfig=${kubeconfig}`, `--hostname-override=${this.name}`];
    const program = [process.execPath, kubusProgram, 'kubelet', '--runtime-handler='] as const;
    const agent = this.#start(this.engine.inside([...program, ...flags]));
    const ended = agent.outcome.then(({ stderr }) => {
      throw new Error(`the kubelet of the machine has ended:\n${stderr}`);
    });
    await Promise.race([this.api.waitFor({ kind: 'Node', name: this.name }, isReady), ended]);
    ended.catch(() => undefined);
  }

  async #relayTo(port: number): Promise<number> {
    const own = await freePort();
    await this.#relay(OWN_NETWORK, own, this.engine.network, port);
    return own;
  }

  /** Makes TCP port `to` of one network's loopback reachable as `port` of another one's. */
  async #relay(network: string, port: number, target: string, to: number): Promise<void> {
    const { portRelay } = await compileNatives(testCache());
    const enter = ['nsenter', `--net=${network}`, '--'] as const;
    const relay = this.#start([...enter, portRelay, String(port), target, '127.0.0.1', String(to)]);
    // It prints a line once it listens.
    await once(relay.child.stderr, 'data');
  }

  #start([program, ...args]: readonly [string, ...string[]]): RunningCommand {
    const started = startCommand(program, args, {});
    this.#started.push(started);
    return started;
  }
}
