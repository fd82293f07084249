import { ConfigError, type ServiceDefinition, httpDoor, ownAddress, socketDoor, tlsDoor } from '@kubus/service-kit';
import { NodeApi } from './node-api.ts';

/** The service `node-api`. */
export const nodeApi: ServiceDefinition = {
  name: 'node-api',
  isPartOf: ({ server }) => server !== undefined,
  start: async (context) => {
    const { server } = context.config;
    if (server === undefined) throw new ConfigError('bad-config', 'server: is missing; node-api has nothing to serve');
    const api = await NodeApi.start(context, server);
    const { secure, healthz } = api.ports;
    const { liveness } = context;
    if (secure !== 0) liveness.door('https', tlsDoor({ host: ownAddress(server.address), port: secure }));
    if (healthz !== undefined) {
      // Not /healthz itself: that asks another service.
      const place = { host: ownAddress(server.healthz.address), port: healthz, path: '/healthz/ping' };
      liveness.door('healthz', httpDoor(place));
    }
    if (server.socket !== undefined) liveness.door('socket', socketDoor({ path: server.socket }));
    context.metrics.add({
      type: 'gauge',
      name: 'kubus_node_api_streams',
      help: 'Open logs and container streams of the node API.',
      collect: () => api.streams,
    });
    return { stop: () => api.stop() };
  },
};
