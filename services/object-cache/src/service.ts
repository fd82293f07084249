import type { ServiceDefinition } from '@kubus/service-kit';

/** The service `object-cache`. */
export const objectCache: ServiceDefinition = {
  name: 'object-cache',
  isPartOf: (config) => config.apiServer !== undefined,
  start: () => Promise.resolve({ stop: () => Promise.resolve() }),
};
