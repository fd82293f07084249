import { Bus, type BusOptions, type Transport } from '@kubus/bus';
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
  /** As which NATS knows the connection, such as `sync-loop-0`. */
  readonly identity: string;
  /** As which the process speaks; its identity unless several share that. */
  readonly instance?: string;
  readonly epoch: number;
  readonly logger: Logger;
  /** Those of a node without faults where left out. */
  readonly contracts?: Readonly<Record<ServiceName, ServiceContract>>;
  /** Something between the bus and NATS. */
  readonly wrap?: (transport: Transport) => Transport;
  /** See {@link BusOptions.onVerbosity}. */
  readonly onVerbosity?: BusOptions['onVerbosity'];
}

/** What one process joins its node's bus with: a connection to NATS, the machine's clock and the service's contract. */
export function busPorts(options: JoinOptions): BusOptions {
  const { connection, node, service, identity, instance = identity, epoch, logger } = options;
  const { contracts = serviceContracts, wrap = (plain: Transport): Transport => plain } = options;
  const ports = { clock: systemClock, ids: systemIds, logger };
  const transport = wrap(new NatsTransport({ ...ports, connection, node, instance: identity }));
  const { onVerbosity } = options;
  return { ...ports, node, service, instance, epoch, contract: contracts[service], transport, onVerbosity };
}

/** The way of one process to its node's bus. */
export function joinBus(options: JoinOptions): { bus: Bus; transport: Transport } {
  const ports = busPorts(options);
  return { bus: new Bus(ports), transport: ports.transport };
}

/**
 * Makes an instance findable by the NATS services protocol.
 *
 * @param http where health, readiness and metrics are served, if they are.
 * @returns what the instance is to announce of itself, see {@link Bus.announce}: who has heard of it can ask it then.
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

/** As {@link answerFinders}, and tells the others that the instance serves. To be called when everything is wired. */
export function announceInstance(connection: NatsConnection, bus: Bus, service: ServiceName): void {
  bus.announce(answerFinders(connection, bus, service));
}
