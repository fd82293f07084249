import type { ServiceDefinition } from '@kubus/service-kit';

/** The service `node-agent`. */
export const nodeAgent: ServiceDefinition = {
  name: 'node-agent',
  isPartOf: (config) => config.apiServer !== undefined,
  start: () => Promise.resolve({ stop: () => Promise.resolve() }),
};
