import type { Bus } from '@kubus/bus';
import { connectNats, readSeed } from '@kubus/bus-nats';
import type { ServiceName } from '@kubus/contracts';
import { identitiesFolder } from '@kubus/launcher';
import { announceInstance, claimSlot, createLogger, joinBus } from '@kubus/service-kit';
import { NATS_PORT, type TestNode } from './test-node.ts';

/** A test's connection to a node's bus instead of a service. */
export interface ServicePlace {
  readonly bus: Bus;
  /** Announces the service; must be called after its handlers are registered. */
  announce(): void;
  /** Leaves the bus. What was published stays. */
  leave(): Promise<void>;
}

/** Joins a node's bus as a service that the node does not run: with its identity, slot and contract. */
export async function takePlace(node: TestNode, service: ServiceName): Promise<ServicePlace> {
  const { dir } = node;
  const instance = `${service}-0`;
  const slot = claimSlot(dir.state(service), 0);
  const connection = await connectNats({
    servers: `127.0.0.1:${await node.tunnel.expose(NATS_PORT)}`,
    instance,
    seed: await readSeed(identitiesFolder(dir), instance),
  });
  const logger = createLogger({ service, instance, level: 'error' });
  const { bus } = joinBus({ connection, node: node.name, service, identity: instance, epoch: slot.epoch, logger });
  return {
    bus,
    announce: () => announceInstance(connection, bus, service),
    leave: async () => {
      await connection.close();
      slot.release();
    },
  };
}
