import type { Bus, Transport } from '@kubus/bus';
import { contractsOf, faultRule, faulted } from '@kubus/contracts';
import { FaultyTransport } from '@kubus/faults';
import { systemClock, systemIds } from './clock.ts';
import { type JoinOptions, joinBus } from './join-bus.ts';

/**
 * The way to the bus of a node that was started with faults: as {@link joinBus}, and what the launcher's rules say is done
 * to what this process sends and hears. Loaded on such a node alone.
 */
export function joinFaultyBus(options: JoinOptions): { bus: Bus; transport: Transport; leave: () => void } {
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
  const { bus, transport } = joinBus({ ...options, contracts: contractsOf({ faults: true }), wrap });
  bus.reader(faultRule, {
    changed: ({ value }) => {
      // The launcher says it again and again.
      if (faulty?.set(value) === true) logger.warn({ rule: value.rule }, 'messages are disturbed on purpose');
    },
    removed: ({ key }) => faulty?.remove(key),
  });
  return { bus, transport, leave: () => faulty?.end() };
}
