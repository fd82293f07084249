import {
  type PodEvent,
  configEvent,
  nodeAgentEvent,
  podEvent,
  probeEvent,
  runtimeNodeEvent,
  volumeEvent,
  workerNodeEvent,
} from '@kubus/contracts';
import { KubeLink } from '@kubus/kube';
import { KubusError } from '@kubus/ports';
import type { ServiceDefinition } from '@kubus/service-kit';
import { ClaimWriter } from './claim-writer.ts';
import { EventWriter } from './event-writer.ts';
import type { PodStartups } from './pod-startups.ts';
import { StatusManager } from './status-manager.ts';
import { StatusMetrics } from './status-metrics.ts';

/** The service `status-manager`. */
export const statusManager: ServiceDefinition = {
  name: 'status-manager',
  isPartOf: (config) => config.apiServer !== undefined,
  start: ({ config, bus, clock, ids, logger, health, metrics }) => {
    const { apiServer: rate, node } = config;
    if (rate === undefined)
      throw new KubusError('bad-config', 'status-manager needs apiServer in the node’s configuration');
    // Until its kubeconfig is there everything waits, and events have their place in the queue.
    const client = new KubeLink(config, 'status-manager', { clock, logger, metrics });
    const shown = new StatusMetrics();
    shown.show(metrics);
    const manager = new StatusManager({ bus, clock, ids, logger, client, rate, metrics: shown });
    const events = new EventWriter({
      ...{ client, clock, ids, logger, node },
      rate: config.events,
      resourceVersion: (uid) => manager.resourceVersion(uid),
    });
    const claims = new ClaimWriter({ bus, client, clock, ids, logger });
    bus.hear(podEvent, ({ payload }) => {
      events.add(payload);
      followPulls(shown.startups, payload, clock.now());
    });
    for (const declaration of [probeEvent, volumeEvent, configEvent]) {
      bus.hear(declaration, ({ payload }) => events.add(payload));
    }
    for (const declaration of [workerNodeEvent, runtimeNodeEvent, nodeAgentEvent]) {
      bus.hear(declaration, ({ payload }) => events.add(payload));
    }
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
    return Promise.resolve({
      stop: async () => {
        events.stop();
        claims.stop();
        await Promise.all([manager.stop(), client.close()]);
      },
    });
  },
};

/** Pulls begin and end with an event each. */
function followPulls(startups: PodStartups, { reason, ref }: PodEvent, now: number): void {
  if (reason === 'Pulling') startups.pulling(ref.uid, now);
  else if (reason === 'Pulled' || reason === 'Failed') startups.pulled(ref.uid, now);
}
