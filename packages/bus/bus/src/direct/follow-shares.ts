import { type ServiceContract, refusedMessage, serviceShare, sharedServices, sourceBeside } from '@kubus/contracts';
import type { Clock, Ids, Logger } from '@kubus/ports';
import { FactReader } from '../fact-reader.ts';
import { Publisher } from '../publisher.ts';
import { Refusals } from '../refusals.ts';
import type { Transport } from '../transport.ts';
import type { DirectDelivery } from './direct-delivery.ts';

/**
 * Reports to `delivery` which instances share the pods, if this service may read that. It is read beside the service's bus, with separate
 * sequence numbers: what the service itself receives does not depend on where it runs.
 *
 * @param transport the service's own connection to the broker
 */
export function followShares(
  delivery: DirectDelivery,
  options: {
    readonly node: string;
    readonly instance: string;
    readonly epoch: number;
    readonly contract: ServiceContract;
    readonly transport: Transport;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly logger: Logger;
  },
): void {
  const { node, instance, epoch, contract, transport, clock, ids, logger } = options;
  if (!contract.reads.includes(serviceShare)) return;
  const publisherId = { node, instance: sourceBeside(instance, 'direct'), epoch };
  const publisher = new Publisher({ publisherId, clock, ids });
  new FactReader({
    ...{ declaration: serviceShare, node, transport, clock },
    refusals: new Refusals({ declaration: refusedMessage, node, instance, publisher, transport, logger, clock }),
    handlers: {
      changed: ({ key, value }) => {
        const service = sharedServices.find((one) => one === key);
        if (service !== undefined) delivery.shared(service, value.instances);
      },
    },
  });
}
