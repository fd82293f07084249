import { Bus, type BusOptions, type Transport, followShares } from '@kubus/bus';
import { type NetworkOnBus, NetworkOnBus as Network } from '@kubus/cni-bridge';
import { type ServiceName, runtimePod, serviceContracts, serviceShare, typeOf } from '@kubus/contracts';
import { CriBridge } from '@kubus/cri-bridge';
import { type CorePorts, JournalingInstance, runCore } from '@kubus/journal';
import { ServiceShares } from '@kubus/launcher/service-shares';
import { podWorkersCore } from '@kubus/pod-workers';
import type { Logger, Random } from '@kubus/ports';
import type { ServiceContext } from '@kubus/service-kit';
import { syncLoopCore } from '@kubus/sync-loop';
import { Disk } from './disk.ts';
import { ALONE, FEW_IDS, NETWORK, NODE_FACTS } from './inputs.ts';
import { MemoryBroker, type MemoryConnection } from './memory-broker.ts';
import { NodeMemory } from './node-memory.ts';
import { PluginModel } from './plugin-model.ts';
import type { ProcessGuard } from './process-guard.ts';
import { RuntimeModel } from './runtime-model.ts';
import { type Behaviour, HANDLER } from './runtime-things.ts';
import { Scheduler } from './scheduler.ts';
import { startAgent } from './simulated-agent.ts';
import type { SimulatedApi } from './simulated-api.ts';
import { startObjects, startSources, startStatuses } from './simulated-cluster.ts';
import { SimulatedFolder } from './simulated-folder.ts';
import { simulatedImages } from './simulated-images.ts';
import { ALLOCATABLE, type ThingsPolicy, ownThings } from './simulated-machine.ts';
import {
  CLUSTER_NODE,
  type Mutations,
  NODE,
  type Placement,
  type SimulatedProcess,
  type SimulatedService,
  startProcess,
} from './simulated-process.ts';
import { simulatedPodFiles } from './simulated-pod-files.ts';
import { SimulatedProber } from './simulated-prober.ts';
import { SimulatedShim } from './simulated-shim.ts';
import { startThings } from './simulated-things.ts';
import { type MountTable, SimulatedVolumes } from './simulated-volumes.ts';

/** Maximum number of instances of pod-workers. */
export const MAX_WORKERS = 3;

interface Life {
  readonly process: SimulatedProcess;
  readonly connection: MemoryConnection;
  /** Ends normally. */
  stop: () => Promise<void>;
}

/** What the code of one service receives. */
interface SimulatedPorts extends CorePorts {
  readonly guard: ProcessGuard;
  readonly random: Random;
  readonly run: ServiceContext['run'];
}

/**
 * A whole node in one process under virtual time: the real code of the services, each as a process that can be killed and
 * started, on a broker in memory, with models of the runtime, of CNI plugins, of a disk, of the prober and of the volume manager.
 */
export class SimulatedNode {
  readonly scheduler = new Scheduler();
  readonly broker: MemoryBroker;
  readonly disk: Disk;
  readonly runtime: RuntimeModel;
  readonly plugins: PluginModel;
  readonly memory = new NodeMemory(() => this.runtime);
  readonly folder = new SimulatedFolder(this.scheduler);
  /** When the workers had finished a pod: its UID, and milliseconds since the start of the run. */
  readonly finished = new Map<string, number>();
  readonly mounts: MountTable = new Map();
  /** When the startup probe of a container was first published as passed, by its ID. */
  readonly startups = new Map<string, number>();
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #mutations: Mutations;
  readonly #maxPods: number;
  readonly #journaled: readonly SimulatedService[];
  readonly #placement: Placement;
  readonly #observe: (transport: Transport, instance: string) => Transport;
  readonly #things: ThingsPolicy | undefined;
  readonly #api: SimulatedApi | undefined;
  /** Keyed by instance. */
  readonly #lives = new Map<string, Life>();
  readonly #shares: ServiceShares;
  readonly #epochs = new Map<SimulatedService, number>();
  readonly #pluginChildren = new Set<{ ended: boolean }>();
  #network: NetworkOnBus | undefined;

  constructor(options: {
    random: Random;
    logger: Logger;
    behaviour: (containerName: string, attempt: number) => Behaviour;
    /** Maximum number of pods on the node at the same time. */
    maxPods: number;
    mutations?: Mutations;
    /** The services that keep journals. */
    journaled?: readonly SimulatedService[];
    /** Default: each service has a process of its own. */
    placement?: Placement;
    /** Wraps the access of an instance to the bus. */
    observe?: (transport: Transport, instance: string) => Transport;
    /** How containers get CPUs, memory and devices for themselves. Default: they get none. */
    things?: ThingsPolicy | undefined;
    /** Makes the node's API server. Default: it has none. */
    makeApi?: ((scheduler: Scheduler) => SimulatedApi) | undefined;
  }) {
    const { random, logger, behaviour } = options;
    this.#random = random;
    this.#logger = logger;
    this.#mutations = options.mutations ?? {};
    this.#maxPods = options.maxPods;
    this.#journaled = options.journaled ?? [];
    this.#placement = options.placement ?? [];
    this.#observe = options.observe ?? ((transport) => transport);
    this.#things = options.things;
    this.#api = options.makeApi?.(this.scheduler);
    const { scheduler } = this;
    this.broker = new MemoryBroker({ scheduler, node: NODE });
    this.#shares = this.#launcher();
    this.disk = new Disk({ scheduler, random: random.fork() });
    this.plugins = new PluginModel({ scheduler, random: random.fork() });
    const shim = new SimulatedShim({ clock: scheduler, network: () => this.#network });
    this.runtime = new RuntimeModel({
      scheduler,
      random: random.fork(),
      behaviour,
      network: {
        add: (id, config) => shim.call('ADD', id, config),
        remove: async (id) => {
          await shim.call('DEL', id, {});
        },
      },
    });
  }

  alive(instance: string): boolean {
    return this.#lives.has(instance);
  }

  connection(instance: string): MemoryConnection | undefined {
    return this.#lives.get(instance)?.connection;
  }

  /** The running instances, in the order in which they were started. */
  get instances(): readonly string[] {
    return [...this.#lives.keys()];
  }

  /** The launcher publishes that these instances of pod-workers share the pods, restricted to the running ones. */
  share(workers: readonly string[]): void {
    this.#shares.set('pod-workers', workers);
  }

  /** Starts an instance of a service, and with it those with which it shares a process. */
  start(service: SimulatedService, slot = 0): void {
    if (this.alive(`${service}-${slot}`)) return;
    const group = slot === 0 ? this.#placement.find((one) => one.includes(service)) : undefined;
    const services = group ?? [service];
    const [scheduler, logger, mutations] = [this.scheduler, this.#logger, this.#mutations];
    const process = startProcess(services, { scheduler, logger, mutations, inCluster: this.#api !== undefined });
    for (const one of services) this.#startIn(process, one, slot);
  }

  #startIn(process: SimulatedProcess, service: SimulatedService, slot: number): void {
    const instance = `${service}-${slot}`;
    const epoch = this.#nextEpoch(service);
    const { guard, direct } = process;
    const clock = guard.clock(this.scheduler);
    const connection = this.broker.connect(instance, (action) => guard.run(action));
    const logger = this.#logger.child({ instance, epoch });
    const ids = this.#random.fork();
    const contract = serviceContracts[service];
    const transport = this.#observe(direct?.join(service, connection) ?? connection, instance);
    const options: BusOptions = {
      node: NODE,
      service: service satisfies ServiceName,
      instance,
      epoch,
      contract,
      transport,
      clock,
      ids,
      logger,
    };
    if (direct !== undefined) followShares(direct, { ...options, transport: connection });
    const life: Life = { process, connection, stop: () => Promise.resolve() };
    this.#lives.set(instance, life);
    process.instances.push(instance);
    if (this.#journaled.includes(service)) void this.#startJournaled(service, options, life);
    else {
      const bus = this.#mutations.makeBus?.(options) ?? new Bus(options);
      const ports = { bus, clock, logger, ids: options.ids };
      const own = { ...ports, guard, random: this.#random.fork(), run: runOn(ports) };
      void this.#run(service, own).then((stop) => {
        if (stop !== undefined) life.stop = stop;
        bus.announce(this.#self(options));
      });
    }
  }

  async #startJournaled(service: SimulatedService, options: BusOptions, life: Life): Promise<void> {
    const { guard } = life.process;
    const journal = await JournalingInstance.join(options, (step) => void options.clock.after(0, step));
    const { bus } = journal;
    const process = { ...options, bus, guard, random: this.#random.fork(), run: journal.run.bind(journal) };
    const stop = await this.#run(service, process);
    if (stop !== undefined) life.stop = stop;
    await journal.announce(this.#self(options));
  }

  #self({ clock, epoch, service }: BusOptions): Parameters<Bus['announce']>[0] {
    const follows = service === 'pod-workers' ? { follows: [typeOf(runtimePod)] } : {};
    return { version: 'simulated', pid: epoch, startedAt: new Date(clock.now()).toISOString(), ...follows };
  }

  /** Kills the process of an instance between two of its steps; the launcher notices it. */
  kill(instance: string): void {
    const process = this.#lives.get(instance)?.process;
    if (process === undefined) return;
    process.guard.kill();
    for (const one of process.instances) this.#ended(one);
  }

  #ended(instance: string): void {
    this.#lives.get(instance)?.connection.kill();
    this.#lives.delete(instance);
    this.#shares.ended(instance);
    if (instance === 'cni-bridge-0') this.#network = undefined;
  }

  /** Ends an instance normally. */
  async stop(instance: string): Promise<void> {
    const life = this.#lives.get(instance);
    await life?.stop();
    if (this.#lives.get(instance) === life) this.kill(instance);
  }

  /** The instances in the process of an instance. */
  together(instance: string): readonly string[] {
    return this.#lives.get(instance)?.process.instances ?? [];
  }

  /** Halts the process of an instance; the launcher takes it for ended. */
  halt(instance: string): void {
    this.#lives.get(instance)?.process.guard.halt();
    for (const one of this.together(instance)) this.#shares.ended(one);
  }

  /** Continues a halted instance, which does not notice that it was halted. Neither does the launcher. */
  goOn(instance: string): void {
    this.#lives.get(instance)?.process.guard.goOn(this.scheduler);
  }

  async #run(
    service: SimulatedService,
    { bus, clock, logger, guard, random, run }: SimulatedPorts,
  ): Promise<(() => Promise<void>) | undefined> {
    switch (service) {
      case 'config-sources': {
        const records = this.disk.store('config-sources', guard);
        await startSources({ run, folder: this.folder, records, clock, logger, guard, random, api: this.#api });
        return undefined;
      }
      case 'status-manager':
        return this.#api && startStatuses(run, this.#api, guard);
      case 'object-cache':
        startObjects(bus);
        return undefined;
      case 'sync-loop':
        await run(
          syncLoopCore,
          {
            ids: FEW_IDS,
            node: {
              ...NODE_FACTS,
              allocatable: { pods: String(this.#maxPods), ...(this.#things && ALLOCATABLE) },
              ...(this.#things && { exclusive: ownThings(this.#things) }),
            },
            inCluster: this.#api !== undefined,
            workers: ALONE,
          },
          { records: this.disk.store('sync-loop', guard) },
        );
        return undefined;
      case 'pod-workers': {
        const exclusive = this.#things && ownThings(this.#things);
        const inputs = {
          share: ALONE,
          nodeIps: [],
          dns: { clusterDns: [], clusterDomain: '' },
          memoryCapacity: 1n,
          allocatable: {},
          syncEveryMs: 60_000,
          ...(exclusive && { exclusive: this.#mutations.makeOwnThings?.(exclusive) ?? exclusive }),
        };
        const core = await run(podWorkersCore, inputs, {
          records: this.disk.store('pod-workers', guard),
          files: simulatedPodFiles(this, guard),
          cgroups: {
            parent: (uid) => `/kubepods/pod${uid}`,
            ensure: () => guard.promise(Promise.resolve()),
            memoryUsage: () => guard.promise(Promise.resolve(0n)),
            remove: () => guard.promise(Promise.resolve()),
          },
          hooks: { get: () => guard.promise(Promise.resolve({ fellBack: false })) },
          epochs: { next: () => this.#nextEpoch(service) },
        });
        return core.calls.stop;
      }
      case 'cri-bridge':
        new CriBridge({
          runtime: this.runtime.client(guard),
          bus,
          clock,
          logger,
          handler: HANDLER,
          sandboxesAtOnce: 2,
          images: await simulatedImages(this.disk, guard, logger),
          // Images are not tested here.
          imageGc: {
            keep: [],
            policy: { highPercent: 100, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
            space: () => guard.promise(Promise.resolve({ capacity: 1, available: 1 })),
          },
          podCidrs: [],
        });
        return undefined;
      case 'prober': {
        const onStartup = (id: string) => {
          if (!this.startups.has(id)) this.startups.set(id, this.scheduler.elapsed());
        };
        new SimulatedProber({ bus, clock, random, onStartup });
        return undefined;
      }
      case 'volume-manager':
        new SimulatedVolumes({ bus, clock, random, mounts: this.mounts, elapsed: () => this.scheduler.elapsed() });
        return undefined;
      case 'node-agent': {
        const [policy, mutations] = [this.#things, this.#mutations];
        // Without it the agent starts at once.
        if (policy !== undefined) await startThings({ bus, clock, logger, guard, disk: this.disk, policy, mutations });
        const node = this.#api && CLUSTER_NODE;
        startAgent({ bus, clock, logger, guard, memory: this.memory, node, withThings: policy !== undefined });
        return undefined;
      }
      case 'cni-bridge': {
        const network = new Network({
          bus,
          clock,
          logger,
          journal: this.disk.store('cni-bridge', guard),
          plugins: this.plugins.runner(guard, this.#pluginChildren),
          limits: {},
        });
        network.bridge.useFiles([NETWORK]);
        await network.recover();
        this.#network = network;
        return undefined;
      }
    }
  }

  /** The part of the launcher that publishes which instances share the pods. It does not crash. */
  #launcher(): ServiceShares {
    const [service, epoch, clock] = ['launcher', 1, this.scheduler] as const;
    const bus = new Bus({
      ...{ node: NODE, service, instance: 'launcher-0', epoch, clock, logger: this.#logger },
      contract: serviceContracts[service],
      transport: this.broker.connect('launcher-0'),
      ids: this.#random.fork(),
    });
    const shares = new ServiceShares({ facts: bus.owner(serviceShare), clock, epoch });
    bus.onPeer((_service, instance) => shares.serves(instance));
    return shares;
  }

  #nextEpoch(service: SimulatedService): number {
    const epoch = (this.#epochs.get(service) ?? 0) + 1;
    this.#epochs.set(service, epoch);
    return epoch;
  }
}

/** Starts cores directly on their ports. */
function runOn(ports: CorePorts): ServiceContext['run'] {
  return (core, inputs, outside) => runCore(core, ports, inputs, outside);
}
