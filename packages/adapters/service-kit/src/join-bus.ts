import { Bus, type BusOptions, type DirectDelivery, type MessageCosts, type Transport, followShares } from '@kubus/bus';
import { NatsTransport } from '@kubus/bus-nats';
import { type ServiceContract, type ServiceName, serviceContracts } from '@kubus/contracts';
import type { Logger } from '@kubus/ports';
import type { NatsConnection } from '@nats-io/nats-core';
import { systemClock, systemIds } from './clock.ts';
import { answerDiscovery } from './discovery.ts';
import { version } from './version.ts';

export interface JoinOptions {
  readonly connection: NatsConnection;
  readonly node: string;
  readonly service: ServiceName;
  /** The name of the connection in NATS, such as `sync-loop-0`. */
  readonly identity: string;
  /** The identity of the process; its own unless several share one. */
  readonly instance?: string;
  readonly epoch: number;
  readonly logger: Logger;
  /** Default: those of a node without faults. */
  readonly contracts?: Readonly<Record<ServiceName, ServiceContract>>;
  /** That of the services of this process, if it has several. */
  readonly direct?: DirectDelivery | undefined;
  /** Measures what messages cost. */
  readonly costs?: MessageCosts | undefined;
  /** Wraps the connection between the bus and NATS. */
  readonly wrap?: (transport: Transport) => Transport;
  /** See {@link BusOptions.onVerbosity}. */
  readonly onVerbosity?: BusOptions['onVerbosity'];
}

/** What one process needs to join its node's bus: a connection to NATS, the machine's clock and the service's contract. */
export function busPorts(options: JoinOptions): BusOptions {
  const { connection, node, service, identity, instance = identity, epoch, logger } = options;
  const { contracts = serviceContracts, wrap = (plain: Transport): Transport => plain } = options;
  const ports = { clock: systemClock, ids: systemIds, logger };
  const { direct, costs, onVerbosity } = options;
  const contract = contracts[service];
  const broker = new NatsTransport({ ...ports, connection, node, instance: identity });
  if (direct !== undefined) followShares(direct, { ...ports, node, instance, epoch, contract, transport: broker });
  const joined = direct?.join(service, costs?.measured(broker, 'copied') ?? broker) ?? broker;
  const transport = wrap(costs?.measured(joined, 'sent') ?? joined);
  return { ...ports, node, service, instance, epoch, contract, transport, onVerbosity };
}

/** The access of one process to its node's bus. */
export function joinBus(options: JoinOptions): { bus: Bus; transport: Transport } {
  const ports = busPorts(options);
  return { bus: new Bus(ports), transport: ports.transport };
}

/**
 * Makes an instance discoverable by the NATS services protocol.
 *
 * @param http the address of health, readiness and metrics, if they are served.
 * @returns what the instance announces about itself, see {@link Bus.announce}: readers of it can then send requests.
 */
export function answerFinders(
  connection: NatsConnection,
  bus: Bus,
  service: ServiceName,
  http?: string,
): Parameters<Bus['announce']>[0] {
  const address = { ...(http !== undefined && { http }) };
  answerDiscovery(
    connection,
    {
      service,
      instance: bus.instance,
      version,
      description: serviceContracts[service].about,
      metadata: { node: bus.node, epoch: String(bus.epoch), ...address },
      stats: () => ({ requests: bus.published, errors: bus.refused }),
    },
    systemClock,
  );
  return { version, pid: process.pid, startedAt: new Date(performance.timeOrigin).toISOString(), ...address };
}

/** Like {@link answerFinders}, and announces that the instance serves. Call it when all handlers are registered. */
export function announceInstance(connection: NatsConnection, bus: Bus, service: ServiceName): void {
  bus.announce(answerFinders(connection, bus, service));
}
