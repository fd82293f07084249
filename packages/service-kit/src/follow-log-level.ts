import type { Bus } from '@kubus/bus';
import { nodeLogLevel } from '@kubus/contracts';
import type { AdjustableLogger } from './logger.ts';

/** Has a process say as much as has been asked of the whole node, as long as that is asked. */
export function followLogLevel(bus: Bus, logger: AdjustableLogger): void {
  bus.reader(nodeLogLevel, {
    changed: ({ value }) => {
      logger.setVerbosity(value.verbosity);
      logger.info(value, 'as much is logged as was asked of the node');
    },
    removed: () => {
      logger.setVerbosity(undefined);
      logger.info({}, 'as much is logged as is configured');
    },
  });
}
