import { connectCri } from '@kubus/cri';
import { ObjectClient } from '@kubus/object-socket';
import type { ServiceDefinition } from '@kubus/service-kit';
import { CriBridge } from './cri-bridge.ts';

export { CriBridge, type CriBridgeOptions } from './cri-bridge.ts';
export type { ObjectReader } from './objects.ts';
export type { Runtime } from './runtime.ts';

/** The service `cri-bridge`. */
export const criBridge: ServiceDefinition = {
  name: 'cri-bridge',
  start: ({ config, bus, clock, ids, logger, health, metrics, stateDir }) => {
    const { socket, relay, handler, sandboxesAtOnce } = config.runtime;
    const runtime = connectCri({
      socket,
      logger,
      clock,
      ids,
      ...(relay !== undefined && { relay: { binary: relay, folder: stateDir } }),
    });
    const objects = config.objects && new ObjectClient(config.objects.socket);
    const bridge = new CriBridge({ runtime, bus, clock, logger, handler, sandboxesAtOnce, objects });
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
    return Promise.resolve({
      stop: () => {
        bridge.stop();
        runtime.close();
        return Promise.resolve();
      },
    });
  },
};
