import { FileRecordStore, type ServiceDefinition, configuredShare } from '@kubus/service-kit';
import { join } from 'node:path';
import { proberCore } from './core.ts';
import { networkProbes } from './network-probes.ts';

/** The service `prober`. It has to run where the addresses of pods can be reached. */
export const prober: ServiceDefinition = {
  name: 'prober',
  journaled: true,
  start: async ({ config, run, clock, logger, health, metrics, reserve, stateDir }) => {
    const inputs = {
      eventRate: config.events,
      share: configuredShare(config, 'prober'),
      nodeIp: config.nodeIps[0] ?? '127.0.0.1',
    };
    const core = await run(proberCore, inputs, {
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger, reserve }),
      network: networkProbes(clock),
    });
    const probes = core.running;
    health.ready('state folder', () => probes.saveError);
    metrics.add({
      type: 'gauge',
      name: 'kubus_prober_pods',
      help: 'Pods that this instance owns.',
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
      help: 'Duration of successful container probes in seconds.',
      values: {
        get series() {
          return [...probes.durations()];
        },
      },
    });
    return {
      stop: core.calls.stop,
    };
  },
};
