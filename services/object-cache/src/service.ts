import { openKubeClient } from '@kubus/kube';
import { ConfigError, type ServiceDefinition, httpDoor } from '@kubus/service-kit';
import { ObjectCache } from './object-cache.ts';

/** The service `object-cache`. */
export const objectCache: ServiceDefinition = {
  name: 'object-cache',
  isPartOf: (config) => config.apiServer !== undefined,
  start: async ({ config, bus, clock, ids, logger, health, liveness, metrics }) => {
    const { objects } = config;
    if (objects === undefined) throw new ConfigError('bad-config', 'a node with apiServer needs objects.socket');
    const client = await openKubeClient(config, 'object-cache', { clock, logger, metrics });
    const cache = await ObjectCache.start({ bus, client, clock, ids, logger, socket: objects.socket });
    liveness.door('objects', httpDoor({ socketPath: objects.socket, path: '/' }));
    health.ready('apiServer', () => cache.problem);
    metrics.add({
      type: 'gauge',
      name: 'kubus_followed_objects',
      help: 'ConfigMaps and Secrets that are kept for pods, and those not read yet.',
      collect: () => [
        { value: cache.count.objects, labels: { state: 'all' } },
        { value: cache.count.unread, labels: { state: 'unread' } },
      ],
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_followed_claims',
      help: 'PersistentVolumeClaims that are polled for pods.',
      collect: () => cache.count.claims,
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_service_account_tokens',
      help: 'Service account tokens that are kept for pods.',
      collect: () => cache.count.tokens,
    });
    return {
      stop: async () => {
        await cache.stop();
        await client.close();
      },
    };
  },
};
