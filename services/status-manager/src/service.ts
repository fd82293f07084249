import type { ServiceDefinition } from '@kubus/service-kit';

/** The service `status-manager`. */
export const statusManager: ServiceDefinition = {
  name: 'status-manager',
  isPartOf: (config) => config.apiServer !== undefined,
  start: () => Promise.resolve({ stop: () => Promise.resolve() }),
};
