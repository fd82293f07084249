import { FileRecordStore, type ServiceDefinition, configuredShare } from '@kubus/service-kit';
import { join } from 'node:path';
import { Prober } from './prober.ts';

/** The service `prober`. It has to run where the addresses of pods can be reached. */
export const prober: ServiceDefinition = {
  name: 'prober',
  start: ({ config, bus, clock, ids, logger, health, metrics, stateDir }) => {
    const probes = new Prober({
      ...{ bus, clock, ids, logger },
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger }),
      eventRate: config.events,
      share: configuredShare(config, 'prober'),
      nodeIp: config.nodeIps[0] ?? '127.0.0.1',
    });
    health.ready('state folder', () => probes.saveError);
    metrics.add({
      type: 'gauge',
      name: 'kubus_prober_pods',
      help: 'Pods that this instance has.',
      collect: () => probes.count,
    });
    metrics.add({
      type: 'counter',
      name: 'prober_probe_total',
      help: 'Liveness, readiness and startup probes of containers by result.',
      collect: () => [...probes.counts()],
    });
    metrics.add({
      type: 'histogram',
      name: 'prober_probe_duration_seconds',
      help: 'How long probes of containers took that succeeded, in seconds.',
      values: {
        get series() {
          return [...probes.durations()];
        },
      },
    });
    return Promise.resolve({
      stop: () => {
        probes.stop();
        return Promise.resolve();
      },
    });
  },
};
