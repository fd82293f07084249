import { Bus, type Transport } from '@kubus/bus';
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
}

/** The way of one process to its node's bus: over a connection to NATS, with the machine's clock and the service's contract. */
export function joinBus(options: JoinOptions): { bus: Bus; transport: Transport } {
  const { connection, node, service, identity, instance = identity, epoch, logger } = options;
  const { contracts = serviceContracts, wrap = (plain: Transport): Transport => plain } = options;
  const ports = { clock: systemClock, ids: systemIds, logger };
  const transport = wrap(new NatsTransport({ ...ports, connection, node, instance: identity }));
  const bus = new Bus({ ...ports, node, service, instance, epoch, contract: contracts[service], transport });
  return { bus, transport };
}

/**
 * Makes an instance findable by the NATS services protocol and tells the others that it serves. To be called when
 * everything is wired, see {@link Bus.announce}.
 *
 * @param http where health, readiness and metrics are served, if they are.
 */
export function announceInstance(connection: NatsConnection, bus: Bus, service: ServiceName, http?: string): void {
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
  // After discovery: who has heard of this instance can ask it.
  bus.announce({
    version,
    pid: process.pid,
    startedAt: new Date(performance.timeOrigin).toISOString(),
    ...address,
  });
}
