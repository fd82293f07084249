import { Bus, type BusOptions, type Transport } from '@kubus/bus';
import { contractsOf, faultRule, faulted } from '@kubus/contracts';
import { FaultyTransport } from '@kubus/faults';
import { systemClock, systemIds } from './clock.ts';
import { type JoinOptions, busPorts } from './join-bus.ts';

/**
 * The way to the bus of a node that was started with faults: as with {@link busPorts}, and what the launcher's rules say is done
 * to what this process sends and hears. Loaded on such a node alone.
 */
export function joinFaultyBus(options: JoinOptions): { ports: BusOptions; bus: Bus; leave: () => void } {
  const { node, instance = options.identity, logger } = options;
  let faulty: FaultyTransport | undefined;
  const wrap = (transport: Transport) => {
    faulty = new FaultyTransport({
      transport,
      node,
      instance,
      clock: systemClock,
      random: () => systemIds.fraction(),
      onDisturbed: ({ pod, ...told }) => bus.emit(faulted, instance, told, { pod }),
      onError: (err) => logger.warn({ err }, 'a message that was held back on purpose could not be handed on'),
    });
    return faulty;
  };
  const ports = busPorts({ ...options, contracts: contractsOf({ faults: true }), wrap });
  const bus = new Bus(ports);
  bus.reader(faultRule, {
    changed: ({ value }) => {
      // The launcher says it again and again.
      if (faulty?.set(value) === true) logger.warn({ rule: value.rule }, 'messages are disturbed on purpose');
    },
    removed: ({ key }) => faulty?.remove(key),
  });
  return { ports, bus, leave: () => faulty?.end() };
}
