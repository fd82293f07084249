import { configEvent, nodeAgentEvent, podEvent, probeEvent, runtimeNodeEvent, workerNodeEvent } from '@kubus/contracts';
import { type KubeRequester, openKubeClient } from '@kubus/kube';
import { KubusError } from '@kubus/ports';
import type { ServiceDefinition } from '@kubus/service-kit';
import { EventWriter } from './event-writer.ts';
import { StatusManager } from './status-manager.ts';

/** The service `status-manager`. */
export const statusManager: ServiceDefinition = {
  name: 'status-manager',
  isPartOf: (config) => config.apiServer !== undefined,
  start: ({ config, bus, clock, ids, logger, health, metrics }) => {
    const { apiServer: rate, node } = config;
    if (rate === undefined)
      throw new KubusError('bad-config', 'status-manager needs apiServer in the node’s configuration');
    const ending = new AbortController();
    // Its kubeconfig may still have to be made: until then everything waits, and events have their place in the queue.
    const opening = openKubeClient(config, 'status-manager', { clock, logger, signal: ending.signal });
    let open = false;
    opening.then(
      () => (open = true),
      () => undefined,
    );
    const client: KubeRequester = { request: async (request) => (await opening).request(request) };
    const manager = new StatusManager({ bus, clock, ids, logger, client, rate });
    const events = new EventWriter({
      ...{ client, clock, ids, logger, node },
      rate: config.events,
      resourceVersion: (uid) => manager.resourceVersion(uid),
    });
    for (const declaration of [podEvent, probeEvent, configEvent]) {
      bus.hear(declaration, ({ payload }) => events.add(payload));
    }
    for (const declaration of [workerNodeEvent, runtimeNodeEvent, nodeAgentEvent]) {
      bus.hear(declaration, ({ payload }) => events.add(payload));
    }
    health.ready('kubeconfig', () => (open ? undefined : 'the kubeconfig is not there yet'));
    health.ready('pods', () =>
      manager.ready ? undefined : 'not everything is known yet that the node says of its pods',
    );
    health.ready('api-server', () => (manager.suspended ? 'the API server takes no statuses' : undefined));
    metrics.add({
      type: 'gauge',
      name: 'kubus_status_pods',
      help: 'Pods by how far the API server knows their status.',
      labelNames: ['state'],
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
      labelNames: ['outcome'],
      collect: () => Object.entries(events.counts).map(([outcome, value]) => ({ value, labels: { outcome } })),
    });
    return Promise.resolve({
      stop: async () => {
        ending.abort(new KubusError('stopped', 'status-manager ends'));
        events.stop();
        await manager.stop();
        await opening.then(
          (opened) => opened.close(),
          () => undefined,
        );
      },
    });
  },
};
