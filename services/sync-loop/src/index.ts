import { type ServiceDefinition, configuredShare } from '@kubus/service-kit';
import { SyncLoop } from './sync-loop.ts';

export { SyncLoop } from './sync-loop.ts';

/** The service `sync-loop`. */
export const syncLoop: ServiceDefinition = {
  name: 'sync-loop',
  start: ({ config, bus, clock, logger, health }) => {
    const loop = new SyncLoop({ bus, clock, logger, workers: configuredShare(config, 'pod-workers') });
    health.ready('sources', () => (loop.ready ? undefined : 'not every source and the runtime have been seen yet'));
    return Promise.resolve({
      stop: () => {
        loop.stop();
        return Promise.resolve();
      },
    });
  },
};
