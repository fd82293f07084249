import { FileRecordStore, type ServiceDefinition, configuredShare } from '@kubus/service-kit';
import { join } from 'node:path';
import { syncLoopCore } from './core.ts';
import { idPool } from './id-pool.ts';
import { nodeFacts } from './node-facts.ts';

export { syncLoopCore } from './core.ts';

/** The service `sync-loop`. */
export const syncLoop: ServiceDefinition = {
  name: 'sync-loop',
  journaled: true,
  start: async ({ config, run, logger, health, metrics, reserve, stateDir }) => {
    const inputs = {
      node: nodeFacts(config),
      inCluster: config.apiServer !== undefined,
      ids: await idPool(config),
      workers: configuredShare(config, 'pod-workers'),
      shutdown: config.shutdown?.periods,
    };
    const records = new FileRecordStore({ dir: join(stateDir, 'pods'), logger, reserve });
    const core = await run(syncLoopCore, inputs, { records });
    const loop = core.running;
    loop.metrics.show(metrics);
    health.ready('sources', () => (loop.ready ? undefined : 'not all pod sources and the runtime have been read yet'));
    health.ready('state folder', () => loop.saveError);
    return {
      stop: core.calls.stop,
    };
  },
};
