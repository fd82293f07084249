import type { Bus } from '@kubus/bus';
import {
  RemovalMarks,
  connectNats,
  defaultRecordLimits,
  journaledRecordLimits,
  readSeed,
  streamsInstance,
} from '@kubus/bus-nats';
import {
  type ServiceName,
  processEvent,
  restartService,
  runElsewhere,
  scaleService,
  serviceNames,
  serviceOfInstance,
  serviceShare,
  contractsOf,
  sharedServices,
  supportProcesses,
} from '@kubus/contracts';
import {
  type AdjustableLogger,
  type Slot,
  announceInstance,
  claimSlot,
  followLogLevel,
  joinBus,
  readOnlyProblem,
  systemClock,
  systemIds,
} from '@kubus/service-kit';
import type { NatsConnection } from '@nats-io/nats-core';
import { apiPublisher, apiRelay } from '../network/api-relay.ts';
import { dnsRelay, dnsTcpRelay } from '../network/dns-relay.ts';
import { wayOut } from '../network/way-out.ts';
import { LauncherError } from '../errors.ts';
import { hubRelay } from '../nats/hub.ts';
import { type InstanceCounts, instancesOf, isShared } from '../nats/identities.ts';
import { type NatsAccess, natsRelay } from '../nats/nats-relay.ts';
import { natsStore } from '../nats/nats-server.ts';
import { NodeStreams } from '../nats/node-streams.ts';
import { NodeFaults } from './node-faults.ts';
import type { NodeDir } from '../node/node-dir.ts';
import {
  type NodeShape,
  checkOwnProcess,
  instancesIn,
  runsServices,
  serviceProcesses,
  sharedProcesses,
} from '../node/node-services.ts';
import { runsServiceProgram } from './node-program.ts';
import { argumentsOf, endProcesses, findProcesses } from './process-record.ts';
import { ServiceShares } from './service-shares.ts';
import { StuckServices } from './stuck-services.ts';
import { type SupervisedProcess, Supervisor } from './supervisor.ts';

/** Grace period of processes that an earlier launcher left behind, in milliseconds. */
const GRACE_MS = 2_000;

/** The other processes of a node besides services and runtime. */
const supportingProcesses: ReadonlySet<string> = new Set([
  ...['nats-server', natsRelay, apiRelay, apiPublisher, hubRelay],
  ...[wayOut, dnsRelay, dnsTcpRelay],
]);

/** The launcher's identity on the bus. */
const launcherInstance = 'launcher-0';

/** What {@link ServiceProcesses} needs. */
export interface ServiceProcessesOptions {
  readonly dir: Pick<NodeDir, 'node' | 'root' | 'processes' | 'state'>;
  readonly logger: AdjustableLogger;
  readonly shape: NodeShape;
  /** Services that the user runs, see `runElsewhere` of the contracts. */
  readonly elsewhere: readonly string[];
  /** Whether the node allows fault injection. Default: false. */
  readonly faults?: boolean;
  /** Whether services keep journals. Default: false. */
  readonly journal?: boolean;
  /** Whether the node's events go to a hub. Default: false. */
  readonly hub?: boolean;
  /** Starts a process named by {@link serviceProcesses}. @param elsewhere those of its services that another process runs */
  readonly start: (process: string, elsewhere: readonly ServiceName[]) => Promise<SupervisedProcess>;
  /** Whether a service can move out of the process that it shares. Default: true. */
  readonly movable?: boolean;
  /** Prepares and saves a change of the number of instances; called before instances are started or stopped. */
  readonly scale: (instances: InstanceCounts) => Promise<void>;
}

/**
 * The processes of a node's services, and the launcher's part on the bus: restarts processes that end, serves the launcher's commands,
 * creates the streams, and publishes which instances share the pods.
 */
export class ServiceProcesses {
  readonly #options: ServiceProcessesOptions;
  readonly #supervisor: Supervisor;
  readonly #slot: Slot;
  #shape: NodeShape;
  #shares: ServiceShares | undefined;
  /** Changes of the number of instances, one at a time. */
  #scaling: Promise<unknown> = Promise.resolve();
  /** Services that move out of the process that they share, or back, one at a time. */
  #moving: Promise<unknown> = Promise.resolve();
  #connection: NatsConnection | undefined;
  #streams: NatsConnection | undefined;
  #keptStreams: NodeStreams | undefined;
  #bus: Bus | undefined;
  #faults: NodeFaults | undefined;
  #stuck: StuckServices | undefined;
  #marks: RemovalMarks | undefined;

  /** Throws `SlotTaken` when another launcher of the node is running. */
  constructor(options: ServiceProcessesOptions) {
    this.#options = options;
    this.#shape = options.shape;
    this.#slot = claimSlot(options.dir.state('launcher'), 0);
    this.#supervisor = new Supervisor({
      logger: options.logger,
      events: {
        started: (what, pid) => this.#emit(what, { what: 'started', pid }),
        ended: (what, pid, status) => {
          for (const instance of instancesIn(what, this.#shape)) this.#shares?.ended(instance);
          this.#emit(what, { what: 'ended', pid, status });
        },
      },
    });
  }

  /** Ends processes that a killed launcher left behind, also unrecorded ones, except the runtime and its pods. */
  async endLeftovers(): Promise<void> {
    const { dir } = this.#options;
    const left = (await findProcesses(dir.root, dir.processes)).filter(({ what }) => !what.startsWith('containerd'));
    const own = await Promise.all(
      left.map(
        async ({ what, pid }) =>
          supportingProcesses.has(what) || runsServices(what) || runsServiceProgram(await argumentsOf(pid)),
      ),
    );
    await endProcesses(
      left.filter((_, at) => own[at]),
      GRACE_MS,
    );
  }

  /** Starts another process that the services need, and keeps it running. See {@link Supervisor.keep}. */
  keep(what: string, start: () => Promise<SupervisedProcess>, first?: SupervisedProcess): void {
    this.#supervisor.keep(what, start, first);
  }

  /** The pid of a process; undefined when it is not running. */
  pid(what: string): number | undefined {
    return this.#supervisor.pid(what);
  }

  /** Starts the services and keeps them running; those that the user runs are only registered. */
  startServices(): void {
    for (const name of serviceProcesses(this.#shape)) {
      const start = () => this.#start(name);
      if (this.#options.elsewhere.includes(serviceOfInstance(name))) this.#supervisor.keepReleased(name, start);
      else this.#supervisor.keep(name, start);
    }
  }

  /**
   * Whether every service is ready: its current process has announced itself on the bus. Services that the user runs do not count.
   */
  get serving(): boolean {
    const announced = new Map([...(this.#bus?.peers ?? [])].map(({ instance, pid }) => [instance, pid]));
    return serviceProcesses(this.#shape)
      .filter((name) => ![...this.#options.elsewhere, ...this.#movedOut].includes(serviceOfInstance(name)))
      .every((name) => {
        const pid = this.#supervisor.pid(name);
        return pid !== undefined && instancesIn(name, this.#shape).every((instance) => announced.get(instance) === pid);
      });
  }

  /** Resolves when every service is ready. */
  async untilServing(): Promise<void> {
    const served = Promise.withResolvers<undefined>();
    this.#bus?.onPeer(() => {
      if (this.serving) served.resolve(undefined);
    });
    await served.promise;
  }

  /** Connects to NATS with the keys in the folder `identities`, waiting until the server is reachable. */
  async joinBus({ url, tls, identities }: NatsAccess & { readonly identities: string }): Promise<void> {
    const { dir, logger, faults = false } = this.#options;
    const connect = async (instance: string) =>
      connectNats({ servers: url, tls, instance, seed: await readSeed(identities, instance) });
    const streams = await connect(streamsInstance);
    this.#streams = streams;
    const { hub = false, journal = false } = this.#options;
    const limits = journal ? journaledRecordLimits : defaultRecordLimits;
    const nodeStreams = { connection: streams, node: dir.node, logger };
    this.#keptStreams = new NodeStreams({ ...nodeStreams, store: natsStore(dir), limits, hub });
    await this.#keptStreams.ensure();
    this.#marks = new RemovalMarks({ ...nodeStreams, clock: systemClock, ids: systemIds });
    const connection = await connect(launcherInstance);
    this.#connection = connection;
    const { bus } = joinBus({
      connection,
      node: dir.node,
      service: 'launcher',
      identity: launcherInstance,
      epoch: this.#slot.epoch,
      logger,
      contracts: contractsOf({ faults }),
      onVerbosity: followLogLevel(logger),
    });
    this.#serve(bus);
    this.#share(bus);
    if (faults) {
      this.#faults = new NodeFaults({
        bus,
        clock: systemClock,
        logger,
        named: (key) => this.#named(key),
        signal: (what, signal) => this.#supervisor.signal(what, signal),
        pid: (what) => this.#supervisor.pid(what),
        flush: () => connection.flush(),
      });
    }
    this.#stuck = new StuckServices({
      ...{ bus, clock: systemClock, logger },
      running: () => this.#running(),
      instancesIn: (what) => instancesIn(what, this.#shape),
      isPaused: (what) => this.#faults?.isPaused(what) ?? false,
      restart: (what, graceMs) => this.#supervisor.restart(what, graceMs),
    });
    announceInstance(connection, bus, 'launcher');
    this.#bus = bus;
  }

  /** Ends the launcher's own part; the processes go on without it. */
  async stop(): Promise<void> {
    this.#supervisor.stop();
    this.#stuck?.stop();
    this.#marks?.stop();
    await this.#faults?.end();
    await this.#connection?.close();
    this.#keptStreams?.stop();
    await this.#streams?.close();
    this.#slot.release();
  }

  /** The processes of services that this launcher runs and that run now. */
  #running(): { what: string; pid: number }[] {
    return serviceProcesses(this.#shape).flatMap((what) => {
      const pid = this.#supervisor.pid(what);
      return pid === undefined ? [] : [{ what, pid }];
    });
  }

  #serve(bus: Bus): void {
    bus.serve(restartService, async ({ key }) => {
      const instances = this.#named(key);
      const restarted = await Promise.all(instances.map((name) => this.#supervisor.restart(name)));
      return {
        instances: instances.filter((_, index) => restarted[index]).flatMap((what) => instancesIn(what, this.#shape)),
      };
    });
    bus.serve(runElsewhere, async ({ key, request }) => {
      const service = this.#sharing(key);
      if (service !== undefined) return { instances: [await this.#move(service, request.elsewhere)] };
      const instances = this.#named(key);
      for (const name of instances) {
        if (request.elsewhere) await this.#supervisor.release(name);
        else this.#supervisor.takeBack(name);
      }
      return { instances };
    });
    bus.serve(scaleService, ({ key, request }) => {
      const scaled = this.#scaling.then(() => this.#scale(key, request.count));
      this.#scaling = scaled.catch(() => undefined);
      return scaled;
    });
  }

  get #movedOut(): readonly ServiceName[] {
    return this.#shape.movedOut ?? [];
  }

  /** The service that a key names, if it shares a process; it may be out of it now. */
  #sharing(key: string): ServiceName | undefined {
    const all = [...sharedProcesses(this.#shape).values()].flat();
    return all.find((service) => key === service || key === `${service}-0`);
  }

  /** Moves a service out of the process that it shares, or back. Returns its instance. */
  #move(service: ServiceName, isElsewhere: boolean): Promise<string> {
    if (this.#options.movable === false) {
      const message = `${service} shares a container with other services: give it its own (placement, see docs/containers.md)`;
      throw new LauncherError('NotMovable', message, { context: { service } });
    }
    const moved = this.#moving.then(async () => {
      const instance = `${service}-0`;
      if (this.#movedOut.includes(service) === isElsewhere) return instance;
      if (!isElsewhere) await this.#supervisor.drop(instance);
      const others = this.#movedOut.filter((one) => one !== service);
      this.#shape = { ...this.#shape, movedOut: isElsewhere ? [...others, service] : others };
      if (isElsewhere) this.#supervisor.keepReleased(instance, () => this.#start(instance));
      const process = [...sharedProcesses(this.#shape)].find(([, services]) => services.includes(service))?.[0] ?? '';
      await this.#supervisor.setElsewhere(process, this.#movedOutOf(process));
      return instance;
    });
    this.#moving = moved.catch(() => undefined);
    return moved;
  }

  #movedOutOf(process: string): readonly ServiceName[] {
    return this.#movedOut.filter((service) => sharedProcesses(this.#shape).get(process)?.includes(service) ?? false);
  }

  async #start(process: string): Promise<SupervisedProcess> {
    this.#requireDisk();
    const elsewhere = this.#movedOutOf(process);
    const started = await this.#options.start(process, elsewhere);
    // A service was moved while the process was being started.
    const now = this.#movedOutOf(process);
    if (now.join() !== elsewhere.join()) await started.setElsewhere?.(now);
    return started;
  }

  /** Throws while the state folder is read-only: a process would end at once, again and again. */
  #requireDisk(): void {
    const problem = readOnlyProblem(this.#options.dir.state('launcher'));
    if (problem !== undefined) throw new LauncherError('ReadOnly', problem);
  }

  /** Publishes which instances share the pods, from now on. */
  #share(bus: Bus): void {
    const facts = bus.owner(serviceShare);
    const shares = new ServiceShares({ facts, clock: systemClock, epoch: bus.epoch });
    for (const service of sharedServices) shares.set(service, instancesOf(service, this.#shape.instances));
    facts.complete();
    bus.onPeer((_service, instance) => shares.serves(instance));
    this.#shares = shares;
  }

  /** New instances get pods when they are ready; removed instances have ended before others get their pods. */
  async #scale(service: string, count: number): Promise<{ instances: string[] }> {
    if (!isShared(service)) {
      const names = sharedServices.join(' and ');
      throw new LauncherError('NotScalable', `${service} always has one instance: only ${names} can be scaled`);
    }
    const before = instancesOf(service, this.#shape.instances);
    const counts = { ...this.#shape.instances, [service]: count };
    const instances = instancesOf(service, counts);
    await this.#options.scale(counts);
    this.#shape = { ...this.#shape, instances: counts };
    for (const instance of instances) {
      if (!before.includes(instance)) this.#supervisor.keep(instance, () => this.#start(instance));
    }
    const surplus = before.filter((instance) => !instances.includes(instance));
    await Promise.all(surplus.map((instance) => this.#supervisor.drop(instance)));
    this.#shares?.set(service, instances);
    return { instances };
  }

  /** The processes of a service or an instance. */
  #named(key: string): string[] {
    checkOwnProcess(key, this.#shape);
    return this.#supervisor.names.filter((name) => name === key || serviceOfInstance(name) === key);
  }

  #emit(what: string, event: { what: 'started' | 'ended'; pid: number; status?: string }): void {
    const service = serviceOfInstance(what);
    if (!isNamed(service)) return;
    this.#bus?.emit(processEvent, what, { ...event, service });
  }
}

type ProcessName = ServiceName | (typeof supportProcesses)[number];

function isNamed(what: string): what is ProcessName {
  return ([...serviceNames, ...supportProcesses] as readonly string[]).includes(what);
}
