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
    // Until its kubeconfig exists all writes wait, and events are queued.
    const client = new KubeLink(config, 'status-manager', { clock, logger, metrics });
    const { qps, burst } = rate;
    const core = await run(statusManagerCore, { rate: { qps, burst }, eventRate }, { api: apiPort(client) });
    const { manager, events, shown } = core.running;
    shown.show(metrics);
    health.ready('kubeconfig', () => (client.isOpen ? undefined : 'waiting for the kubeconfig'));
    health.ready('pods', () =>
      manager.ready ? undefined : 'not all facts about the node’s pods have been received yet',
    );
    health.ready('api-server', () => (manager.suspended ? 'the API server does not accept statuses' : undefined));
    metrics.add({
      type: 'gauge',
      name: 'kubus_status_pods',
      help: 'Pods by the state of their status on the API server.',
      collect: () => [...manager.counts].map(([state, value]) => ({ value, labels: { state } })),
    });
    metrics.add({
      type: 'gauge',
      name: 'kubus_status_waiting',
      help: 'Pods with a waiting write to the API server.',
      collect: () => manager.waiting,
    });
    metrics.add({
      type: 'counter',
      name: 'kubus_status_events_total',
      help: 'Events for the API server, by result.',
      collect: () => Object.entries(events.counts).map(([outcome, value]) => ({ value, labels: { outcome } })),
    });
    return {
      stop: async () => {
        await Promise.all([core.calls.stop(), client.close()]);
      },
    };
  },
};
