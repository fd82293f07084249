import { Bus, DirectDelivery, type DirectDeliveryOptions, MessageCosts } from '@kubus/bus';
import { connectNats, readSeed } from '@kubus/bus-nats';
import { type AnyFact, type ServiceName, contractsOf, serviceContracts, serviceNames, typeOf } from '@kubus/contracts';
import { type Calls, type Core, JournalingInstance, type Outside, type RunningCore, runCore } from '@kubus/journal';
import { type Clock, type Ids, KubusError, type Logger, toError } from '@kubus/ports';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from './clock.ts';
import { collectAtRest } from './collect-at-rest.ts';
import { endAfter, endProcess } from './end-process.ts';
import { followLogLevel } from './follow-log-level.ts';
import { GroupHealth } from './group-health.ts';
import type { Health } from './health.ts';
import { serveHttp } from './http.ts';
import { Liveness } from './liveness.ts';
import { answerFinders, busPorts } from './join-bus.ts';
import { createLogger } from './logger.ts';
import { MachineLimits } from './machine-limits.ts';
import { Metrics, addBusMetrics, addMessageCosts } from './metrics.ts';
import { type NodeConfig, readNodeConfig, unknownFields } from './node-config.ts';
import { withOwnLevel } from './own-level.ts';
import { placedServices } from './placement-config.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { Reserve } from './reserve.ts';
import { ServiceGroup, followElsewhere } from './service-group.ts';
import { type Slot, claimSlot } from './slot.ts';
import { version } from './version.ts';

/** The environment variable that makes services measure what each kind of message costs: `1`. */
export const measuringMessages = 'KUBUS_MEASURE_MESSAGES';

/** What a service's code receives: everything outside of it. */
export interface ServiceContext {
  readonly config: NodeConfig;
  readonly instance: string;
  readonly slot: Slot;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly health: Health;
  readonly liveness: Pick<Liveness, 'door'>;
  readonly metrics: Metrics;
  /** The service's own folder, which exists, mode 0700. */
  readonly stateDir: string;
  /** Room in it for when its disk is full. */
  readonly reserve: Reserve;
  /** Starts the service's core; its inputs are journaled if the node keeps journals. */
  readonly run: <Inputs, Ports extends Outside, Running, CoreCalls extends Calls<CoreCalls>>(
    core: Core<Inputs, Ports, Running, CoreCalls>,
    inputs: Inputs,
    outside: Ports,
  ) => Promise<RunningCore<Running, CoreCalls>>;
}

export interface RunningService {
  /** See `service.fact.instance`. */
  readonly sealKey?: string;
  /** Ends cleanly; pods are left unchanged. */
  stop(): Promise<void>;
}

export interface ServiceDefinition {
  readonly name: ServiceName;
  /** Whether a node of this configuration has the service, for a service that not every node has. */
  readonly isPartOf?: (config: NodeConfig) => boolean;
  /** Users control fault rules through it: its own messages are never affected, otherwise no fault could be ended. */
  readonly undisturbed?: true;
  /** Its core does everything with its bus, so that it can be journaled. */
  readonly journaled?: true;
  /** See `service.fact.instance`, `follows`. */
  readonly follows?: readonly AnyFact[];
  /** Connects the service to the bus and starts it; afterwards it is announced to the others. */
  start(context: ServiceContext): Promise<RunningService>;
}

/**
 * Runs services in this process: reads `--config FILE`, `--slot N` (default 0), `--services A,B` (default: all of them that the node has) and
 * `--elsewhere A` (those of them that another process runs at first), and serves until SIGTERM or SIGINT. The process that started this one
 * can move services out and back, see {@link followElsewhere}. In a container, `--process NAME` stands for the services that the configuration
 * puts there; their health is also served as one.
 * Memory that work has needed is given back afterwards ({@link collectAtRest}). An error at start is one log line and exit code 1.
 */
export async function runServices(definitions: readonly ServiceDefinition[]): Promise<void> {
  const names = definitions.map(({ name }) => name).join(',');
  const report = (error: unknown, what: string) =>
    createLogger({ service: names, instance: names, level: 'info' }).error({ err: toError(error) }, what);
  let group: ServiceGroup | undefined;
  const end = () => {
    void endAfter(group?.stop() ?? Promise.resolve(), (error) => report(error, 'did not end cleanly'));
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  try {
    const { config: file, slot, services, process: shared, elsewhere } = parseArguments();
    const { config: read, unknown } = readNodeConfig(file);
    const config = withOwnLevel(read, process.env['KUBUS_LOG_LEVEL']);
    const logger = createLogger({ service: names, instance: names, level: config.logLevel });
    if (unknown.length > 0) logger.warn({ file, unknown }, unknownFields);
    collectAtRest(config.mallocTrim, logger);
    const named = shared === undefined ? services : servicesIn(shared, config);
    const present = definitions.filter(({ isPartOf }) => isPartOf?.(config) ?? true);
    const own = present.filter(({ name }) => named?.includes(name) ?? true);
    const members = own.map(({ name }) => name);
    const others = present.map(({ name }) => name).filter((name) => !members.includes(name));
    // A replay starts from the text of messages, which differs from a value that was not parsed.
    const isDirect = members.length > 1 && !config.journal;
    const direct = isDirect ? directDelivery(config, { services: members, others, slot, elsewhere }) : undefined;
    const healths = new GroupHealth(members);
    if (shared !== undefined) await serveHttp({ health: healths, port: config.httpPorts[shared] ?? 0 });
    group = new ServiceGroup({
      services: members,
      direct,
      start: (name) => runService(definitionOf(own, name), { config, slot, direct, health: healths.begin(name) }),
    });
    await group.setElsewhere(elsewhere);
    const failed = (error: unknown) => {
      report(error, 'cannot move a service');
      return endProcess(1);
    };
    followElsewhere(process, group, failed);
  } catch (error) {
    report(error, 'cannot start');
    await endProcess(1);
  }
}

function definitionOf(definitions: readonly ServiceDefinition[], name: ServiceName): ServiceDefinition {
  const found = definitions.find((definition) => definition.name === name);
  if (found === undefined) throw new KubusError('usage', `this program has no service ${name}`);
  return found;
}

/** The services of a process that the configuration names. Throws KubusError `usage` when it names none of that name. */
function servicesIn(process: string, { placement }: NodeConfig): readonly ServiceName[] {
  const placed = placedServices(placement).get(process);
  if (placed !== undefined) return placed;
  throw new KubusError('usage', `the node's configuration has no process ${process} (placement)`);
}

/** CPU time of this thread, in microseconds. */
function cpuMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function parseArguments(): {
  config: string;
  slot: number;
  services: readonly string[] | undefined;
  process: string | undefined;
  elsewhere: ServiceName[];
} {
  const options = {
    config: { type: 'string' },
    slot: { type: 'string', default: '0' },
    services: { type: 'string' },
    process: { type: 'string' },
    elsewhere: { type: 'string', default: '' },
  } as const;
  const { config, slot, services, process, elsewhere } = parseArgs({ options }).values;
  if (config === undefined) throw new KubusError('usage', '--config FILE is missing');
  if (!/^\d+$/.test(slot)) throw new KubusError('usage', `--slot ${slot} is not a number`);
  return {
    config,
    slot: Number(slot),
    services: services?.split(','),
    process,
    elsewhere: serviceNames.filter((name) => elsewhere.split(',').includes(name)),
  };
}

/** The services of this process exchange their messages directly. */
function directDelivery(
  config: NodeConfig,
  of: Pick<DirectDeliveryOptions, 'services' | 'others' | 'slot' | 'elsewhere'>,
): DirectDelivery {
  const logger = createLogger({ service: 'direct', instance: of.services.join(','), level: config.logLevel });
  const soon = (step: () => void) => void setImmediate(step);
  return new DirectDelivery({
    ...of,
    node: config.node,
    contracts: serviceContracts,
    clock: systemClock,
    logger,
    soon,
  });
}

/** Starts one instance of a service in this process. */
async function runService(
  definition: ServiceDefinition,
  of: { config: NodeConfig; slot: number; direct: DirectDelivery | undefined; health: Health },
): Promise<RunningService> {
  const { config, slot: slotNumber, direct, health } = of;
  const service = definition.name;
  const instance = `${service}-${slotNumber}`;
  const logger = createLogger({ service, instance, level: config.logLevel });
  const stateDir = join(config.state, service);
  const slot = claimSlot(stateDir, slotNumber);
  const liveness = new Liveness({ health, clock: systemClock });
  liveness.start();
  const limits = new MachineLimits({ stateDir, health, logger });
  limits.start();
  const metrics = new Metrics({ service, instance, node: config.node });
  addProcessMetrics(metrics, version);
  health.ready('bus', () => 'waiting for NATS');
  const http = await serveHttp({ health, metrics, port: config.httpPorts[instance] ?? 0 });
  logger.info({ epoch: slot.epoch, http: http.address, version }, 'started');

  const seed = await readSeed(config.nats.identities, instance);
  const connection = await connectNats({ servers: config.nats.url, tls: config.nats.tls, instance, seed });
  const disturbed = config.faults && definition.undisturbed !== true;
  const costs = process.env[measuringMessages] === '1' ? new MessageCosts(cpuMicros) : undefined;
  if (costs !== undefined) addMessageCosts(metrics, costs);
  const joining = {
    ...{ connection, node: config.node, service, identity: instance, epoch: slot.epoch, logger, direct, costs },
    // Services affected by faults do not handle the rules: these arrive outside of their bus.
    ...(!disturbed && { contracts: contractsOf(config) }),
    onVerbosity: followLogLevel(logger),
  };
  const faulty = disturbed ? (await import('./join-faulty-bus.ts')).joinFaultyBus(joining) : undefined;
  const ports = faulty?.ports ?? busPorts(joining);
  const { transport, clock, ids } = ports;
  const journal =
    config.journal && definition.journaled === true ? await JournalingInstance.join(ports, setImmediate) : undefined;
  const bus = journal?.bus ?? new Bus(ports);
  health.ready('bus', () => (transport.connected ? undefined : 'not connected to NATS'));
  transport.onConnection((connected) => {
    if (connected) logger.info({ server: connection.getServer() }, 'connected to NATS');
    else if (!connection.isClosed()) logger.warn({}, 'connection to NATS lost; continuing without it until it is back');
  });
  addBusMetrics(metrics, bus);
  const started = await definition.start({
    config,
    instance,
    slot,
    bus,
    clock,
    ids,
    logger,
    health,
    liveness,
    metrics,
    stateDir,
    reserve: new Reserve(join(stateDir, 'reserve'), logger),
    run: (core, inputs, outside) =>
      journal?.run(core, inputs, outside) ?? runCore(core, { bus, clock, ids, logger }, inputs, outside),
  });
  const follows = definition.follows?.map(typeOf);
  const { sealKey } = started;
  const self = {
    ...answerFinders(connection, bus, service, http.address),
    ...(follows && { follows }),
    ...(sealKey !== undefined && { sealKey }),
  };
  if (journal === undefined) bus.announce(self);
  else await journal.announce(self);
  return {
    stop: async () => {
      liveness.stop();
      limits.stop();
      await started.stop();
      faulty?.leave();
      journal?.end();
      direct?.leave(service);
      // Without NATS the remaining messages cannot be sent.
      await connection.drain().catch(() => connection.close());
      await http.close();
      slot.release();
      logger.info({}, 'stopped');
    },
  };
}
