import type { KeyedIdentity } from '@kubus/bus-nats';
import { runtimeNetwork } from '@kubus/cni-config';
import { contractsOf, serviceOfInstance } from '@kubus/contracts';
import { importImages } from '@kubus/node-images';
import { toError } from '@kubus/ports';
import { type AdjustableLogger, hostProcess } from '@kubus/service-kit';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  apiPublisher,
  apiRelay,
  startApiPublisher,
  startApiRelay,
  writeRelayedKubeconfig,
} from '../network/api-relay.ts';
import { type Containerd, adoptContainerd, startContainerd } from '../runtime/containerd.ts';
import { type ContainerdPrograms, findContainerd } from '../runtime/containerd-programs.ts';
import { startConnections } from '../network/connections.ts';
import { LauncherError } from '../errors.ts';
import { ProcessLogRotation } from './log-rotation.ts';
import { type Hub, hubRelay, keptHub, relayedHubLink, startHubRelay } from '../nats/hub.ts';
import { type InstanceCounts, ensureIdentities, missingIdentities } from '../nats/identities.ts';
import { podNamespaces, removeLostNamespaces } from '../runtime/lost-namespaces.ts';
import { type Natives, compileNatives, installNatives } from './natives.ts';
import { natsAccess, natsRelay, parseNatsUrl, startNatsRelay } from '../nats/nats-relay.ts';
import { startNats, writeNatsConfig } from '../nats/nats-server.ts';
import { inNetworkNamespace } from '../network/network-namespace.ts';
import { type NodeDir, createNodeDir } from './node-dir.ts';
import { nodeProgramEnv, serviceProgram } from '../processes/node-program.ts';
import { sharedProcesses } from './node-services.ts';
import {
  type NodeSettings,
  identitiesFolder,
  nodeConfigFile,
  writeNodeConfig,
  writeSettings,
} from './node-settings.ts';
import { findCniPlugins, podNetwork } from '../network/pod-network.ts';
import { ServiceProcesses } from '../processes/service-processes.ts';
import { type StartedProcess, startProcess } from '../processes/start-process.ts';

/** What {@link NodeLauncher} needs. */
export interface NodeLauncherOptions {
  readonly dir: NodeDir;
  readonly settings: NodeSettings;
  readonly logger: AdjustableLogger;
  /** Called before each step that may take long. */
  readonly onStep?: (what: string) => void;
}

/**
 * Starts the processes of a private node and keeps them running: NATS, containerd and the services. It runs in the node's
 * network namespace.
 * When it ends, the processes keep running; `takeDown` ends them.
 */
export class NodeLauncher {
  readonly #options: NodeLauncherOptions;
  readonly #processes: ServiceProcesses;
  readonly #logs: ProcessLogRotation;

  /** Throws `SlotTaken` when another launcher of the node is running. */
  constructor(options: NodeLauncherOptions) {
    const { dir, logger, settings } = options;
    this.#options = options;
    this.#logs = new ProcessLogRotation({ folders: [dir.logs], logger });
    this.#processes = new ServiceProcesses({
      dir,
      logger,
      shape: settings,
      elsewhere: settings.elsewhere,
      faults: settings.faults,
      journal: settings.journal,
      hub: settings.hub !== undefined,
      start: (name, elsewhere) => this.#startService(name, elsewhere),
      scale: async (instances) => {
        await this.#addIdentities(instances);
        await writeSettings(dir, { ...settings, instances });
      },
    });
  }

  /** Starts all processes. Returns the native programs. Throws the error that prevents the node from starting. */
  async start(): Promise<Natives> {
    const { dir, settings } = this.#options;
    await createNodeDir(dir);
    this.#logs.start();
    await this.#processes.endLeftovers();
    const programs = await findContainerd(settings.containerd);
    const plugins = await findCniPlugins();
    const identities = await ensureIdentities(identitiesFolder(dir), settings.instances);
    this.#step('starting NATS');
    await this.#startNats(identities);
    await this.#startApiRelay();
    const keep = (what: string, start: () => Promise<StartedProcess>) => this.#processes.keep(what, start);
    const resolvConf = await startConnections({ dir, settings, keep });
    const natives = await this.#prepareRuntime(programs);
    await writeNodeConfig(dir, settings, { natives, plugins, resolvConf });
    const { bridge } = settings;
    // Networks of the machine are told apart by their names.
    const name = settings.network === 'host' ? { name: bridge } : {};
    const network = podNetwork({ ...name, bridge, dataDir: dir.cni.data });
    await writeFile(join(dir.cni.networks, '10-pods.conflist'), network);
    this.#step('starting the services');
    this.#processes.startServices();
    await this.#processes.joinBus({ ...natsAccess(dir, settings), identities: identitiesFolder(dir) });
    return natives;
  }

  /** Ends the launcher; the node's processes keep running. */
  async stop(): Promise<void> {
    this.#logs.stop();
    await this.#processes.stop();
  }

  /** Starts the node's own NATS server, or the relay to the external one. */
  async #startNats(identities: readonly KeyedIdentity[]): Promise<void> {
    const { dir, settings } = this.#options;
    if (settings.nats === undefined) {
      const hub = await keptHub(dir, settings);
      if (hub !== undefined) await this.#startHubRelay(hub);
      await this.#writeNatsConfig(identities, hub);
      this.#processes.keep('nats-server', () => startNats(dir));
      return;
    }
    const { portRelay: program } = await compileNatives(settings.cache);
    const server = parseNatsUrl(settings.nats);
    this.#processes.keep(natsRelay, () => startNatsRelay(dir, program, settings.ports.nats, server));
  }

  async #writeNatsConfig(identities: readonly KeyedIdentity[], hub: Hub | undefined): Promise<void> {
    const { dir, settings } = this.#options;
    const contracts = contractsOf(settings);
    const link = hub && relayedHubLink(settings.ports.hub, dir.node, hub, contracts);
    await writeNatsConfig(dir, identities, settings.ports.nats, { contracts, hub: link });
  }

  /** Starts the relay to the hub. */
  async #startHubRelay({ server }: Hub): Promise<void> {
    const { dir, settings } = this.#options;
    const { portRelay: program } = await compileNatives(settings.cache);
    this.#processes.keep(hubRelay, () => startHubRelay(dir, program, settings.ports.hub, server));
  }

  /** Starts the relay to the API server, for a member of a cluster, or that from the machine to the node's own. */
  async #startApiRelay(): Promise<void> {
    const { dir, settings } = this.#options;
    // On the machine's network the API has that port itself.
    if (settings.apiPort !== undefined && settings.network !== 'host') {
      const { portRelay: program } = await compileNatives(settings.cache);
      const { apiPort: port } = settings;
      this.#processes.keep(apiPublisher, () => startApiPublisher(dir, program, port));
    }
    if (settings.kubeconfig === undefined) return;
    const server = await writeRelayedKubeconfig(dir, settings.kubeconfig, settings.ports.api);
    const { portRelay: program } = await compileNatives(settings.cache);
    this.#processes.keep(apiRelay, () => startApiRelay(dir, program, settings.ports.api, server));
  }

  async #prepareRuntime(programs: ContainerdPrograms): Promise<Natives> {
    const { dir, settings } = this.#options;
    this.#step('compiling native programs');
    const natives = await installNatives(dir, settings.cache);
    await writeFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork());
    this.#step('starting containerd');
    const start = () => this.#startContainerd(programs);
    const containerd = (await adoptContainerd(dir)) ?? (await start());
    this.#processes.keep('containerd', start, containerd);
    this.#step('importing images');
    const { images } = settings;
    await importImages({ containerdSocket: dir.socket('containerd'), images, ctr: programs.ctr });
    return natives;
  }

  async #startContainerd(programs: ContainerdPrograms): Promise<Containerd> {
    const { dir, logger } = this.#options;
    const before = await podNamespaces(dir);
    const { registryHosts } = this.#options.settings;
    const containerd = await startContainerd({ dir, programs, registryHosts });
    try {
      const files = await removeLostNamespaces(containerd.socket, before);
      if (files.length > 0) logger.info({ files }, 'removed network namespaces without a sandbox');
    } catch (error) {
      logger.warn({ err: toError(error) }, 'cannot look for network namespaces without a sandbox');
    }
    return containerd;
  }

  /**
   * @param name an instance, or a process with several services
   * @param elsewhere those of its services that another process runs
   */
  #startService(name: string, elsewhere: readonly string[]): Promise<StartedProcess> {
    const { dir, settings } = this.#options;
    const service = serviceOfInstance(name);
    const services = sharedProcesses(settings).get(name);
    const program = settings.programs[services === undefined ? service : hostProcess] ?? '';
    return startProcess({
      dir,
      what: name,
      command: inNetworkNamespace(
        dir.networkNamespace,
        serviceProgram(program, nodeConfigFile(dir), name, services, elsewhere),
      ),
      env: nodeProgramEnv,
      isShared: services !== undefined,
      log: join(dir.logs, `${service}.log`),
    });
  }

  /** Creates the missing identities of these instances, and makes NATS admit them. */
  async #addIdentities(instances: InstanceCounts): Promise<void> {
    const { dir, settings } = this.#options;
    const { nats } = settings;
    const folder = identitiesFolder(dir);
    const missing = await missingIdentities(folder, instances);
    if (missing.length === 0) return;
    if (nats !== undefined) {
      const hint =
        'create them with "kubus identities --scale", reload the server, and start the node with "kubus up --scale"';
      throw new LauncherError(
        'NoIdentities',
        `the node has no keys for ${missing.join(', ')} on the external NATS server ${nats}: ${hint}`,
      );
    }
    const hub = await keptHub(dir, settings);
    await this.#writeNatsConfig(await ensureIdentities(folder, instances), hub);
    const pid = this.#processes.pid('nats-server');
    // A server that is being started reads the new configuration anyway.
    if (pid !== undefined) process.kill(pid, 'SIGHUP');
  }

  #step(what: string): void {
    this.#options.onStep?.(what);
  }
}
