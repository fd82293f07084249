import { type BusOptions, FactReader, Publisher, Refusals, type Transport } from '@kubus/bus';
import { faultRule, faulted, refusedMessage, sourceBeside, subjectOf } from '@kubus/contracts';
import { type Disturbance, FaultyTransport } from '@kubus/faults';
import { systemClock, systemIds } from './clock.ts';
import { type JoinOptions, busPorts } from './join-bus.ts';

/**
 * Access to the bus of a node that was started with faults: like {@link busPorts}, and applies the launcher's rules
 * to what this process sends and receives. Loaded on such a node only.
 *
 * The rules arrive, and their effects are published, outside of the affected bus, with separate sequence numbers: the service's
 * messages are numbered as on any node, and a replay of them does not involve faults.
 */
export function joinFaultyBus(options: JoinOptions): { ports: BusOptions; leave: () => void } {
  let faulty: FaultyTransport | undefined;
  const ports = busPorts({ ...options, wrap: (transport) => (faulty = followRules(transport, options)) });
  return { ports, leave: () => faulty?.end() };
}

function followRules(transport: Transport, options: JoinOptions): FaultyTransport {
  const { node, identity, instance = identity, epoch, logger } = options;
  const [clock, ids] = [systemClock, systemIds];
  const publisherId = { node, instance: sourceBeside(instance, 'faults'), epoch };
  const publisher = new Publisher({ publisherId, clock, ids });
  const publishApplied = ({ pod, ...payload }: Disturbance) => {
    const { headers } = publisher.stamp(faulted, { pod });
    transport.publish({ subject: subjectOf(node, faulted, instance), headers, data: JSON.stringify(payload) });
  };
  const faulty = new FaultyTransport({
    ...{ transport, node, instance, clock },
    random: () => systemIds.fraction(),
    onDisturbed: publishApplied,
    onError: (err) => logger.warn({ err }, 'a message delayed by a fault rule could not be delivered'),
  });
  new FactReader({
    ...{ declaration: faultRule, node, transport, clock },
    refusals: new Refusals({ declaration: refusedMessage, node, instance, publisher, transport, logger, clock }),
    handlers: {
      changed: ({ value }) => {
        // The launcher publishes it repeatedly.
        if (faulty.set(value)) logger.warn({ rule: value.rule }, 'a fault rule affects messages');
      },
      removed: ({ key }) => faulty.remove(key),
    },
  });
  return faulty;
}
