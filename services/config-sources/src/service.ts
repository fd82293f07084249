import { FileRecordStore, type ServiceDefinition } from '@kubus/service-kit';
import { join } from 'node:path';
import { FileManifestFolder } from './manifest-folder.ts';
import { publishSources } from './publish.ts';

/** The service `config-sources`. */
export const configSources: ServiceDefinition = {
  name: 'config-sources',
  start: async ({ config, bus, clock, logger, health, stateDir }) => {
    const sources = publishSources({
      bus,
      node: config.node,
      clock,
      logger,
      records: new FileRecordStore({ dir: join(stateDir, 'files'), logger }),
      folder: new FileManifestFolder({ path: config.manifests.path, logger }),
      fileCheckFrequency: config.manifests.checkEveryMs,
      eventRate: config.events,
    });
    health.ready('sources', () => (sources.ready ? undefined : 'not every source has been read yet'));
    await sources.start();
    return {
      stop: () => {
        sources.stop();
        return Promise.resolve();
      },
    };
  },
};
