import { FileRecordStore, type ServiceDefinition, configuredShare } from '@kubus/service-kit';
import { join } from 'node:path';
import { syncLoopCore } from './core.ts';
import { idPool } from './id-pool.ts';
import { nodeFacts } from './node-facts.ts';

export { syncLoopCore } from './core.ts';
export { SyncLoop, type SyncLoopOptions } from './sync-loop.ts';

/** The service `sync-loop`. */
export const syncLoop: ServiceDefinition = {
  name: 'sync-loop',
  journaled: true,
  start: async ({ config, run, logger, health, metrics, stateDir }) => {
    const inputs = {
      node: nodeFacts(config),
      inCluster: config.apiServer !== undefined,
      ids: await idPool(config),
      workers: configuredShare(config, 'pod-workers'),
    };
    const records = new FileRecordStore({ dir: join(stateDir, 'pods'), logger });
    const core = await run(syncLoopCore, inputs, { records });
    const loop = core.running;
    loop.metrics.show(metrics);
    health.ready('sources', () => (loop.ready ? undefined : 'not every source and the runtime have been seen yet'));
    health.ready('state folder', () => loop.saveError);
    return {
      stop: async () => {
        await core.call('stop');
      },
    };
  },
};
