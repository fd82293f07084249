import { FileRecordStore, type ServiceDefinition, configuredShare } from '@kubus/service-kit';
import { join } from 'node:path';
import { idPool } from './id-pool.ts';
import { nodeFacts } from './node-facts.ts';
import { SyncLoop } from './sync-loop.ts';

export { SyncLoop, type SyncLoopOptions } from './sync-loop.ts';

/** The service `sync-loop`. */
export const syncLoop: ServiceDefinition = {
  name: 'sync-loop',
  start: async ({ config, bus, clock, logger, health, metrics, stateDir }) => {
    const loop = await SyncLoop.start({
      bus,
      clock,
      logger,
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger }),
      node: nodeFacts(config),
      inCluster: config.apiServer !== undefined,
      ids: await idPool(config),
      workers: configuredShare(config, 'pod-workers'),
    });
    loop.metrics.show(metrics);
    health.ready('sources', () => (loop.ready ? undefined : 'not every source and the runtime have been seen yet'));
    health.ready('state folder', () => loop.saveError);
    return {
      stop: () => {
        loop.stop();
        return Promise.resolve();
      },
    };
  },
};
