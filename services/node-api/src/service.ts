import type { ServiceDefinition } from '@kubus/service-kit';

/** The service `node-api`. */
export const nodeApi: ServiceDefinition = {
  name: 'node-api',
  isPartOf: (config) => config.server !== undefined,
  start: () => Promise.resolve({ stop: () => Promise.resolve() }),
};
