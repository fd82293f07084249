import type { ServiceDefinition } from '@kubus/service-kit';

/** The service `kube-api`: to the node what a cluster's API server is, with its objects in a file. */
export const kubeApi: ServiceDefinition = {
  name: 'kube-api',
  isPartOf: ({ kubeApi }) => kubeApi !== undefined,
  // Read only where it is started: a process of other services does not pay for it.
  start: async (context) => (await import('./serve.ts')).serve(context),
};
