import type { Bus } from '@kubus/bus';
import { clusterNode } from '@kubus/contracts';
import { type KubeClient, openKubeClient } from '@kubus/kube';
import { FileRecordStore, type ServiceDefinition } from '@kubus/service-kit';
import { join } from 'node:path';
import { FileManifestFolder } from './manifest-folder.ts';
import { ManifestUrl } from './manifest-url.ts';
import { publishSources } from './publish.ts';

/** The service `config-sources`. */
export const configSources: ServiceDefinition = {
  name: 'config-sources',
  start: async ({ config, bus, clock, ids, logger, health, metrics, stateDir }) => {
    const { manifests, manifestUrl, apiServer } = config;
    const stopped = new AbortController();
    let client: KubeClient | undefined;
    // Followed by every node, as the contract says; awaited only for the API server.
    const node = nodeObject(bus, config.node);
    const connect = async () => {
      await node;
      client = await openKubeClient(config, 'config-sources', { clock, logger, metrics, signal: stopped.signal });
      return client;
    };
    const sources = publishSources({
      bus,
      node: config.node,
      clock,
      logger,
      records: new FileRecordStore({ dir: join(stateDir, 'files'), logger }),
      file: manifests && {
        folder: new FileManifestFolder({ path: manifests.path, logger }),
        fileCheckFrequency: manifests.checkEveryMs,
      },
      http: manifestUrl && {
        endpoint: new ManifestUrl({ ...manifestUrl, clock }),
        checkEveryMs: manifestUrl.checkEveryMs,
      },
      api: apiServer && { connect, random: () => ids.fraction() },
      eventRate: config.events,
    });
    health.ready('sources', () => (sources.ready ? undefined : 'not every source has been read yet'));
    await sources.start();
    return {
      stop: async () => {
        sources.stop();
        stopped.abort();
        await client?.close();
      },
    };
  },
};

/** Resolves once the Node object is known: pods of the API are admitted by it (kubelet behaviour 1.1). */
function nodeObject(bus: Bus, node: string): Promise<void> {
  return new Promise((resolve) => {
    bus.reader(clusterNode, { changed: ({ key }) => key === node && resolve() });
  });
}
