import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@kubus/bus';
import {
  type KeyedIdentity,
  connectNats,
  defaultRecordLimits,
  ensureStreams,
  purgeRemovalMarks,
} from '@kubus/bus-nats';
import {
  type ServiceName,
  processEvent,
  restartService,
  runElsewhere,
  scaleService,
  serviceNames,
  serviceShare,
  sharedServices,
  supportProcesses,
} from '@kubus/contracts';
import { runtimeNetwork } from '@kubus/cni-config';
import { importImages } from '@kubus/node-images';
import { type Logger, toError } from '@kubus/ports';
import { type Slot, announceInstance, claimSlot, joinBus, systemClock, systemIds } from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiRelay, startApiRelay, writeRelayedKubeconfig } from './api-relay.ts';
import { type Containerd, adoptContainerd, startContainerd } from './containerd.ts';
import { type ContainerdPrograms, findContainerd } from './containerd-programs.ts';
import { LauncherError } from './errors.ts';
import { ensureIdentities, instancesOf, isShared, missingIdentities } from './identities.ts';
import { podNamespaces, removeLostNamespaces } from './lost-namespaces.ts';
import { type Natives, compileNatives, installNatives } from './natives.ts';
import { natsRelay, parseNatsUrl, startNatsRelay } from './nats-relay.ts';
import { ownNatsUrl, startNats, writeNatsConfig } from './nats-server.ts';
import { inNetworkNamespace } from './network-namespace.ts';
import { type NodeDir, createNodeDir } from './node-dir.ts';
import { nodeProgram, nodeProgramEnv } from './node-program.ts';
import { checkOwnProcess, hostProcess, instancesIn, serviceProcesses } from './node-services.ts';
import {
  type NodeSettings,
  identitiesFolder,
  nodeConfigFile,
  writeNodeConfig,
  writeSettings,
} from './node-settings.ts';
import { findCniPlugins, podNetwork } from './pod-network.ts';
import { endProcesses, findProcesses } from './process-record.ts';
import { ServiceShares } from './service-shares.ts';
import { type StartedProcess, startProcess } from './start-process.ts';
import { Supervisor } from './supervisor.ts';

/** How often marks of removed facts are looked for, and how old they have to be, in milliseconds. */
const PURGE_EVERY_MS = 600_000;
const PURGE_AGE_MS = 300_000;

/** How long what an earlier launcher left behind may take to end. */
const GRACE_MS = 2_000;

export interface NodeLauncherOptions {
  readonly dir: NodeDir;
  readonly settings: NodeSettings;
  readonly logger: Logger;
  /** Told before each step that may take long. */
  readonly onStep?: (what: string) => void;
}

/**
 * Starts a private node's processes and keeps them running: NATS, containerd and the services. It runs in the node's
 * network namespace. Ending it ends nothing else; `takeDown` does that.
 */
export class NodeLauncher {
  readonly #options: NodeLauncherOptions;
  readonly #supervisor: Supervisor;
  readonly #slot: Slot;
  #settings: NodeSettings;
  #shares: ServiceShares | undefined;
  /** Changes of the number of instances, one at a time. */
  #scaling: Promise<unknown> = Promise.resolve();
  #connection: NatsConnection | undefined;
  #bus: Bus | undefined;
  #purging: NodeJS.Timeout | undefined;

  /** Throws `SlotTaken` when the node has a launcher already. */
  constructor(options: NodeLauncherOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#slot = claimSlot(options.dir.state('launcher'), 0);
    this.#supervisor = new Supervisor({
      logger: options.logger,
      events: {
        started: (what, pid) => this.#emit(what, { what: 'started', pid }),
        ended: (what, pid, status) => {
          for (const instance of instancesIn(what, this.#settings)) this.#shares?.ended(instance);
          this.#emit(what, { what: 'ended', pid, status });
        },
      },
    });
  }

  async start(): Promise<void> {
    const { dir, settings } = this.#options;
    await createNodeDir(dir);
    await this.#endLeftovers();
    const programs = await findContainerd(settings.containerd);
    const plugins = await findCniPlugins();
    const identities = await ensureIdentities(identitiesFolder(dir), settings.instances);
    this.#step('starting NATS');
    await this.#startNats(identities);
    await this.#startApiRelay();
    const natives = await this.#prepareRuntime(programs);
    await writeNodeConfig(dir, settings, { relay: natives.relay, plugins });
    await writeFile(join(dir.cni.networks, '10-pods.conflist'), podNetwork({ dataDir: dir.cni.data }));
    this.#step('starting the services');
    for (const name of serviceProcesses(settings)) {
      const start = () => this.#startService(name);
      if (settings.elsewhere.includes(serviceOf(name))) this.#supervisor.know(name, start);
      else this.#supervisor.keep(name, start);
    }
    const seed = identities.find(({ service }) => service === 'launcher')?.seed ?? '';
    await this.#joinBus(seed);
  }

  /** Ends the launcher's own part; the node goes on without it. */
  async stop(): Promise<void> {
    this.#supervisor.stop();
    clearInterval(this.#purging);
    await this.#connection?.close();
    this.#slot.release();
  }

  /** Services that a killed launcher left are replaced; containerd and its pods are kept. */
  async #endLeftovers(): Promise<void> {
    const { dir } = this.#options;
    const left = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => !what.startsWith('containerd'));
    const own = left.filter(
      ({ what }) =>
        what === 'nats-server' || what === natsRelay || what === apiRelay || what === hostProcess || /-\d+$/.test(what),
    );
    await endProcesses(own, GRACE_MS);
  }

  /** A server of the node's own, or the relay to the one that it was told. */
  async #startNats(identities: readonly KeyedIdentity[]): Promise<void> {
    const { dir, settings } = this.#options;
    if (settings.nats === undefined) {
      await writeNatsConfig(dir, identities);
      this.#supervisor.keep('nats-server', () => startNats(dir));
      return;
    }
    const { natsRelay: program } = await compileNatives(settings.cache);
    const server = parseNatsUrl(settings.nats);
    this.#supervisor.keep(natsRelay, () => startNatsRelay(dir, program, server));
  }

  /** The way to the API server, of a node that is a member of a cluster. */
  async #startApiRelay(): Promise<void> {
    const { dir, settings } = this.#options;
    if (settings.kubeconfig === undefined) return;
    const server = await writeRelayedKubeconfig(dir, settings.kubeconfig);
    const { natsRelay: program } = await compileNatives(settings.cache);
    this.#supervisor.keep(apiRelay, () => startApiRelay(dir, program, server));
  }

  async #prepareRuntime(programs: ContainerdPrograms): Promise<Natives> {
    const { dir, settings } = this.#options;
    this.#step('compiling the CNI shim and the relay');
    const natives = await installNatives(dir, settings.cache);
    await writeFile(join(dir.cni.handlerConf, '10-kubus.conflist'), runtimeNetwork());
    this.#step('starting containerd');
    const start = () => this.#startContainerd(programs);
    const containerd = (await adoptContainerd(dir)) ?? (await start());
    this.#supervisor.keep('containerd', start, containerd);
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
    const args = ['--config', nodeConfigFile(dir), '--slot', /\d+$/.exec(name)?.[0] ?? '0'];
    return startProcess({
      dir,
      what: name,
      command: inNetworkNamespace(dir.networkNamespace, nodeProgram(program, args)),
      env: nodeProgramEnv,
      log: join(dir.logs, `${service}.log`),
    });
  }

  async #joinBus(seed: string): Promise<void> {
    const { dir, logger } = this.#options;
    const instance = 'launcher-0';
    const connection = await connectNats({ servers: ownNatsUrl, instance, seed });
    this.#connection = connection;
    await this.#keepStreams(connection);
    this.#purging = setInterval(() => void this.#purge(connection, instance), PURGE_EVERY_MS);
    const { bus } = joinBus({
      connection,
      node: dir.node,
      service: 'launcher',
      identity: instance,
      epoch: this.#slot.epoch,
      logger,
    });
    bus.serve(restartService, async ({ key }) => {
      const instances = this.#named(key);
      const restarted = await Promise.all(instances.map((name) => this.#supervisor.restart(name)));
      return {
        instances: instances
          .filter((_, index) => restarted[index])
          .flatMap((what) => instancesIn(what, this.#settings)),
      };
    });
    bus.serve(runElsewhere, async ({ key, request }) => {
      const instances = this.#named(key);
      for (const name of instances) {
        if (request.elsewhere) await this.#supervisor.letGo(name);
        else this.#supervisor.takeBack(name);
      }
      return { instances };
    });
    bus.serve(scaleService, ({ key, request }) => {
      const scaled = this.#scaling.then(() => this.#scale(key, request.count));
      this.#scaling = scaled.catch(() => undefined);
      return scaled;
    });
    this.#share(bus);
    announceInstance(connection, bus, 'launcher');
    this.#bus = bus;
  }

  /** Tells which instances share the pods, from now on. */
  #share(bus: Bus): void {
    const facts = bus.owner(serviceShare);
    const shares = new ServiceShares({ facts, clock: systemClock, epoch: bus.epoch });
    for (const service of sharedServices) shares.set(service, instancesOf(service, this.#settings.instances));
    facts.complete();
    bus.onPeer((_service, instance) => shares.serves(instance));
    this.#shares = shares;
  }

  /** Instances that come have pods when they serve; those that go have ended in order before others have theirs. */
  async #scale(service: string, count: number): Promise<{ instances: string[] }> {
    if (!isShared(service)) {
      const names = sharedServices.join(' and ');
      throw new LauncherError('NotScalable', `${service} runs once on a node; ${names} run in any number of instances`);
    }
    const { dir } = this.#options;
    const before = instancesOf(service, this.#settings.instances);
    const settings = { ...this.#settings, instances: { ...this.#settings.instances, [service]: count } };
    const instances = instancesOf(service, settings.instances);
    await this.#letIn(settings);
    await writeSettings(dir, settings);
    this.#settings = settings;
    for (const instance of instances) {
      if (!before.includes(instance)) this.#supervisor.keep(instance, () => this.#startService(instance));
    }
    const many = before.filter((instance) => !instances.includes(instance));
    await Promise.all(many.map((instance) => this.#supervisor.drop(instance)));
    this.#shares?.set(service, instances);
    return { instances };
  }

  /** Lets NATS know the identities of all instances. */
  async #letIn({ instances, nats }: NodeSettings): Promise<void> {
    const { dir } = this.#options;
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
    await writeNatsConfig(dir, await ensureIdentities(folder, instances));
    const pid = this.#supervisor.pid('nats-server');
    // A server that is just being started reads the new configuration anyway.
    if (pid !== undefined) process.kill(pid, 'SIGHUP');
  }

  /** What is kept under the name of a service, or of one of its instances. */
  #named(key: string): string[] {
    checkOwnProcess(key, this.#settings);
    return this.#supervisor.names.filter((name) => name === key || serviceOf(name) === key);
  }

  /** The streams are in memory: a NATS server that was started again has none. */
  async #keepStreams(connection: NatsConnection): Promise<void> {
    const { dir, logger } = this.#options;
    const ensure = async () => {
      for (let made = false; !made && !connection.isClosed();) {
        try {
          await ensureStreams(connection, dir.node, defaultRecordLimits);
          made = true;
        } catch (error) {
          logger.warn({ err: toError(error) }, 'the streams could not be made yet');
          await wait(100);
        }
      }
    };
    await ensure();
    void (async () => {
      for await (const status of connection.status()) if (status.type === 'reconnect') await ensure();
    })();
  }

  /** What can not be purged now is found the next time. */
  async #purge(connection: NatsConnection, instance: string): Promise<void> {
    const { dir, logger } = this.#options;
    const before = systemClock.now() - PURGE_AGE_MS;
    try {
      const count = await purgeRemovalMarks({ connection, node: dir.node, instance, before, id: systemIds.hex(8) });
      logger.debug({ count }, 'marks of removed facts are purged');
    } catch (error) {
      logger.warn({ err: toError(error) }, 'marks of removed facts could not be purged');
    }
  }

  #emit(what: string, event: { what: 'started' | 'ended'; pid: number; status?: string }): void {
    const service = serviceOf(what);
    if (!isNamed(service)) return;
    this.#bus?.emit(processEvent, what, { ...event, service });
  }

  #step(what: string): void {
    this.#options.onStep?.(what);
  }
}

/** The name of an instance's service; of another process, its own. */
function serviceOf(name: string): string {
  return name.replace(/-\d+$/, '');
}

type ProcessName = ServiceName | (typeof supportProcesses)[number];

function isNamed(what: string): what is ProcessName {
  return ([...serviceNames, ...supportProcesses] as readonly string[]).includes(what);
}
