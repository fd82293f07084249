import { connectCri } from '@kubus/cri';
import type { ServiceDefinition } from '@kubus/service-kit';
import { CriBridge } from './cri-bridge.ts';

export { CriBridge, type CriBridgeOptions } from './cri-bridge.ts';
export type { Runtime } from './runtime.ts';

/** The service `cri-bridge`. */
export const criBridge: ServiceDefinition = {
  name: 'cri-bridge',
  start: ({ config, bus, clock, ids, logger, health, metrics, stateDir }) => {
    const { podCidrs } = config.network;
    const { socket, relay, handler, sandboxesAtOnce } = config.runtime;
    const runtime = connectCri({
      socket,
      logger,
      clock,
      ids,
      ...(relay !== undefined && { relay: { binary: relay, folder: stateDir } }),
    });
    const bridge = new CriBridge({ runtime, bus, clock, logger, handler, sandboxesAtOnce, podCidrs });
    health.ready('runtime', () => bridge.problem);
    metrics.add({
      type: 'gauge',
      name: 'kubus_sandboxes',
      help: 'Sandboxes being made, and waiting for their turn.',
      labelNames: ['state'],
      collect: () => [
        { value: bridge.sandboxes.making, labels: { state: 'making' } },
        { value: bridge.sandboxes.waiting, labels: { state: 'waiting' } },
      ],
    });
    metrics.add({
      type: 'counter',
      name: 'kubus_cri_calls_total',
      help: 'Calls of the container runtime by method.',
      labelNames: ['method'],
      collect: () => [...runtime.counts].map(([method, value]) => ({ value, labels: { method } })),
    });
    return Promise.resolve({
      stop: () => {
        bridge.stop();
        runtime.close();
        return Promise.resolve();
      },
    });
  },
};
