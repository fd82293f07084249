import { type BusOptions, FactReader, Publisher, Refusals, type Transport } from '@kubus/bus';
import { faultRule, faulted, refusedMessage, sourceBeside, subjectOf } from '@kubus/contracts';
import { type Disturbance, FaultyTransport } from '@kubus/faults';
import { systemClock, systemIds } from './clock.ts';
import { type JoinOptions, busPorts } from './join-bus.ts';

/**
 * The way to the bus of a node that was started with faults: as with {@link busPorts}, and what the launcher's rules say is done
 * to what this process sends and hears. Loaded on such a node alone.
 *
 * The rules come, and what they did is told, past the bus that is disturbed, under running numbers of their own: the service's
 * messages are numbered as they are anywhere, and a replay of them needs to know of no faults.
 */
export function joinFaultyBus(options: JoinOptions): { ports: BusOptions; leave: () => void } {
  let faulty: FaultyTransport | undefined;
  const ports = busPorts({ ...options, wrap: (transport) => (faulty = followRules(transport, options)) });
  return { ports, leave: () => faulty?.end() };
}

function followRules(transport: Transport, options: JoinOptions): FaultyTransport {
  const { node, identity, instance = identity, epoch, logger } = options;
  const [clock, ids] = [systemClock, systemIds];
  const speaker = { node, instance: sourceBeside(instance, 'faults'), epoch };
  const publisher = new Publisher({ speaker, clock, ids });
  const tell = ({ pod, ...told }: Disturbance) => {
    const { headers } = publisher.stamp(faulted, { pod });
    transport.publish({ subject: subjectOf(node, faulted, instance), headers, data: JSON.stringify(told) });
  };
  const faulty = new FaultyTransport({
    ...{ transport, node, instance, clock },
    random: () => systemIds.fraction(),
    onDisturbed: tell,
    onError: (err) => logger.warn({ err }, 'a message that was held back on purpose could not be handed on'),
  });
  new FactReader({
    ...{ declaration: faultRule, node, transport, clock },
    refusals: new Refusals({ declaration: refusedMessage, node, instance, publisher, transport, logger }),
    handlers: {
      changed: ({ value }) => {
        // The launcher says it again and again.
        if (faulty.set(value)) logger.warn({ rule: value.rule }, 'messages are disturbed on purpose');
      },
      removed: ({ key }) => faulty.remove(key),
    },
  });
  return faulty;
}
