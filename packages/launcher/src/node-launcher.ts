import type { KeyedIdentity } from '@kubus/bus-nats';
import { runtimeNetwork } from '@kubus/cni-config';
import { contractsOf } from '@kubus/contracts';
import { importImages } from '@kubus/node-images';
import { toError } from '@kubus/ports';
import type { AdjustableLogger } from '@kubus/service-kit';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiRelay, startApiRelay, writeRelayedKubeconfig } from './api-relay.ts';
import { type Containerd, adoptContainerd, startContainerd } from './containerd.ts';
import { type ContainerdPrograms, findContainerd } from './containerd-programs.ts';
import { LauncherError } from './errors.ts';
import { type Hub, hubRelay, keptHub, relayedHubLink, startHubRelay } from './hub.ts';
import { type InstanceCounts, ensureIdentities, launcherSeed, missingIdentities } from './identities.ts';
import { podNamespaces, removeLostNamespaces } from './lost-namespaces.ts';
import { type Natives, compileNatives, installNatives } from './natives.ts';
import { natsAccess, natsRelay, parseNatsUrl, startNatsRelay } from './nats-relay.ts';
import { NATS_PORT, startNats, writeNatsConfig } from './nats-server.ts';
import { inNetworkNamespace } from './network-namespace.ts';
import { type NodeDir, createNodeDir } from './node-dir.ts';
import { nodeProgramEnv, serviceProgram } from './node-program.ts';
import {
  type NodeSettings,
  identitiesFolder,
  nodeConfigFile,
  writeNodeConfig,
  writeSettings,
} from './node-settings.ts';
import { findCniPlugins, podNetwork } from './pod-network.ts';
import { ServiceProcesses, serviceOf } from './service-processes.ts';
import { type StartedProcess, startProcess } from './start-process.ts';

export interface NodeLauncherOptions {
  readonly dir: NodeDir;
  readonly settings: NodeSettings;
  readonly logger: AdjustableLogger;
  /** Told before each step that may take long. */
  readonly onStep?: (what: string) => void;
}

/**
 * Starts a private node's processes and keeps them running: NATS, containerd and the services. It runs in the node's
 * network namespace. Ending it ends nothing else; `takeDown` does that.
 */
export class NodeLauncher {
  readonly #options: NodeLauncherOptions;
  readonly #processes: ServiceProcesses;

  /** Throws `SlotTaken` when the node has a launcher already. */
  constructor(options: NodeLauncherOptions) {
    const { dir, logger, settings } = options;
    this.#options = options;
    this.#processes = new ServiceProcesses({
      dir,
      logger,
      shape: settings,
      elsewhere: settings.elsewhere,
      faults: settings.faults,
      hub: settings.hub !== undefined,
      start: (name) => this.#startService(name),
      scale: async (instances) => {
        await this.#letIn(instances);
        await writeSettings(dir, { ...settings, instances });
      },
    });
  }

  async start(): Promise<void> {
    const { dir, settings } = this.#options;
    await createNodeDir(dir);
    await this.#processes.endLeftovers();
    const programs = await findContainerd(settings.containerd);
    const plugins = await findCniPlugins();
    const identities = await ensureIdentities(identitiesFolder(dir), settings.instances);
    this.#step('starting NATS');
    await this.#startNats(identities);
    await this.#startApiRelay();
    const natives = await this.#prepareRuntime(programs);
    await writeNodeConfig(dir, settings, { natives, plugins });
    await writeFile(join(dir.cni.networks, '10-pods.conflist'), podNetwork({ dataDir: dir.cni.data }));
    this.#step('starting the services');
    this.#processes.startServices();
    await this.#processes.joinBus({ ...natsAccess(dir, settings), seed: launcherSeed(identities) });
  }

  /** Ends the launcher's own part; the node goes on without it. */
  async stop(): Promise<void> {
    await this.#processes.stop();
  }

  /** A server of the node's own, or the relay to the one that it was told. */
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
    this.#processes.keep(natsRelay, () => startNatsRelay(dir, program, server));
  }

  async #writeNatsConfig(identities: readonly KeyedIdentity[], hub: Hub | undefined): Promise<void> {
    const { dir, settings } = this.#options;
    const contracts = contractsOf(settings);
    const link = hub && relayedHubLink(dir.node, hub, contracts);
    await writeNatsConfig(dir, identities, NATS_PORT, { contracts, hub: link });
  }

  /** The way to the hub. */
  async #startHubRelay({ server }: Hub): Promise<void> {
    const { dir, settings } = this.#options;
    const { portRelay: program } = await compileNatives(settings.cache);
    this.#processes.keep(hubRelay, () => startHubRelay(dir, program, server));
  }

  /** The way to the API server, of a node that is a member of a cluster. */
  async #startApiRelay(): Promise<void> {
    const { dir, settings } = this.#options;
    if (settings.kubeconfig === undefined) return;
    const server = await writeRelayedKubeconfig(dir, settings.kubeconfig);
    const { portRelay: program } = await compileNatives(settings.cache);
    this.#processes.keep(apiRelay, () => startApiRelay(dir, program, server));
  }

  async #prepareRuntime(programs: ContainerdPrograms): Promise<Natives> {
    const { dir, settings } = this.#options;
    this.#step('compiling the CNI shim and the relay');
    const natives = await installNatives(dir, settings.cache);
    await writeFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork());
    this.#step('starting containerd');
    const start = () => this.#startContainerd(programs);
    const containerd = (await adoptContainerd(dir)) ?? (await start());
    this.#processes.keep('containerd', start, containerd);
    this.#step('importing the images');
    const { images } = settings;
    await importImages({ containerdSocket: dir.socket('containerd'), images, ctr: programs.ctr });
    return natives;
  }

  async #startContainerd(programs: ContainerdPrograms): Promise<Containerd> {
    const { dir, logger } = this.#options;
    const before = await podNamespaces(dir);
    const containerd = await startContainerd({ dir, programs });
    try {
      const files = await removeLostNamespaces(containerd.socket, before);
      if (files.length > 0) logger.info({ files }, 'removed network namespaces that containerd has forgotten');
    } catch (error) {
      logger.warn({ err: toError(error) }, 'network namespaces that containerd has forgotten could not be looked for');
    }
    return containerd;
  }

  /** @param name an instance, or the process of all first ones */
  #startService(name: string): Promise<StartedProcess> {
    const { dir, settings } = this.#options;
    const service = serviceOf(name);
    const program = settings.programs[service] ?? '';
    return startProcess({
      dir,
      what: name,
      command: inNetworkNamespace(dir.networkNamespace, serviceProgram(program, nodeConfigFile(dir), name)),
      env: nodeProgramEnv,
      log: join(dir.logs, `${service}.log`),
    });
  }

  /** Lets NATS know the identities of all instances. */
  async #letIn(instances: InstanceCounts): Promise<void> {
    const { dir, settings } = this.#options;
    const { nats } = settings;
    const folder = identitiesFolder(dir);
    const missing = await missingIdentities(folder, instances);
    if (missing.length === 0) return;
    if (nats !== undefined) {
      const hint = 'make them with "kubus identities --scale", and start the node with "kubus up --scale"';
      throw new LauncherError(
        'NoIdentities',
        `the NATS server at ${nats} does not know ${missing.join(', ')}: ${hint}`,
      );
    }
    const hub = await keptHub(dir, settings);
    await this.#writeNatsConfig(await ensureIdentities(folder, instances), hub);
    const pid = this.#processes.pid('nats-server');
    // A server that is just being started reads the new configuration anyway.
    if (pid !== undefined) process.kill(pid, 'SIGHUP');
  }

  #step(what: string): void {
    this.#options.onStep?.(what);
  }
}
