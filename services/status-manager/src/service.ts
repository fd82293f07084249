import { KubeLink } from '@kubus/kube';
import { KubusError } from '@kubus/ports';
import type { ServiceDefinition } from '@kubus/service-kit';
import { apiPort } from './api-port.ts';
import { statusManagerCore } from './core.ts';

/** The service `status-manager`. */
export const statusManager: ServiceDefinition = {
  name: 'status-manager',
  isPartOf: (config) => config.apiServer !== undefined,
  journaled: true,
  start: async ({ config, run, clock, logger, health, metrics }) => {
    const { apiServer: rate, events: eventRate } = config;
    if (rate === undefined)
      throw new KubusError('bad-config', 'status-manager needs apiServer in the node’s configuration');
    // Until its kubeconfig is there everything waits, and events have their place in the queue.
    const client = new KubeLink(config, 'status-manager', { clock, logger, metrics });
    const { qps, burst } = rate;
    const core = await run(statusManagerCore, { rate: { qps, burst }, eventRate }, { api: apiPort(client) });
    const { manager, events, shown } = core.running;
    shown.show(metrics);
    health.ready('kubeconfig', () => (client.isOpen ? undefined : 'the kubeconfig is not there yet'));
    health.ready('pods', () =>
      manager.ready ? undefined : 'not everything is known yet that the node says of its pods',
    );
    health.ready('api-server', () => (manager.suspended ? 'the API server takes no statuses' : undefined));
    metrics.add({
      type: 'gauge',
      name: 'kubus_status_pods',
      help: 'Pods by how far the API server knows their status.',
      collect: () => [...manager.counts].map(([state, value]) => ({ value, labels: { state } })),
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_status_waiting',
      help: 'Pods of which something is to be written to the API server.',
      collect: () => manager.waiting,
    });
    metrics.add({
      type: 'counter',
      name: 'kubus_status_events_total',
      help: 'Events that were to be written to the API server, by what became of them.',
      collect: () => Object.entries(events.counts).map(([outcome, value]) => ({ value, labels: { outcome } })),
    });
    return {
      stop: async () => {
        await Promise.all([core.call('stop'), client.close()]);
      },
    };
  },
};
