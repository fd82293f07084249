import { type KubeClient, openKubeClient } from '@kubus/kube';
import { FileRecordStore, type ServiceDefinition } from '@kubus/service-kit';
import { join } from 'node:path';
import { ConfigSources, registeredSources } from './config-sources.ts';
import { configSourcesCore, takerOf } from './core.ts';
import { FileManifestFolder } from './manifest-folder.ts';
import { ThreadedParser } from './manifest-parser.ts';
import { ManifestUrl } from './manifest-url.ts';

/** The service `config-sources`. */
export const configSources: ServiceDefinition = {
  name: 'config-sources',
  journaled: true,
  start: async ({ config, run, clock, ids, logger, health, metrics, reserve, stateDir }) => {
    const { manifests, manifestUrl, apiServer } = config;
    const stopped = new AbortController();
    let client: KubeClient | undefined;
    const has = { file: manifests, http: manifestUrl, api: apiServer };
    const core = await run(configSourcesCore, { sources: registeredSources(has), eventRate: config.events }, {});
    const { merge, node } = core.running;
    const connect = async () => {
      await node;
      client = await openKubeClient(config, 'config-sources', { clock, logger, metrics, signal: stopped.signal });
      return client;
    };
    const parser = new ThreadedParser({ clock });
    const sources = new ConfigSources({
      node: config.node,
      parser,
      clock,
      logger,
      taker: takerOf(core),
      records: new FileRecordStore({ dir: join(stateDir, 'files'), logger, reserve }),
      file: manifests && {
        folder: new FileManifestFolder({ path: manifests.path, logger }),
        fileCheckFrequency: manifests.checkEveryMs,
      },
      http: manifestUrl && {
        endpoint: new ManifestUrl({ ...manifestUrl, clock }),
        checkEveryMs: manifestUrl.checkEveryMs,
      },
      api: apiServer && { connect, random: () => ids.fraction() },
    });
    health.ready('sources', () => (merge.ready ? undefined : 'not every source has been read yet'));
    await sources.start();
    return {
      stop: async () => {
        sources.stop();
        stopped.abort();
        await parser.close();
        await client?.close();
      },
    };
  },
};
