import { FileRecordStore, type ServiceDefinition } from '@kubus/service-kit';
import { hasNoSwap } from '@kubus/volume';
import { mkdir, realpath } from 'node:fs/promises';
import { release, totalmem } from 'node:os';
import { join } from 'node:path';
import { createVolumeHost } from './volume-host.ts';
import { VolumeManager } from './volume-manager.ts';

export type { VolumeHost } from './ports.ts';
export { createVolumeHost } from './volume-host.ts';
export { VolumeManager, type VolumeManagerOptions } from './volume-manager.ts';

/** The service `volume-manager`. */
export const volumeManager: ServiceDefinition = {
  name: 'volume-manager',
  start: async ({ config, bus, clock, logger, health, metrics, stateDir }) => {
    await mkdir(config.pods.root, { recursive: true, mode: 0o750 });
    const root = await realpath(config.pods.root);
    const manager = await VolumeManager.start({
      bus,
      clock,
      logger,
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger }),
      host: createVolumeHost(root),
      settings: { root, memory: BigInt(totalmem()), noSwap: hasNoSwap(release()) },
    });
    health.ready('pods', () => (manager.ready ? undefined : 'not every pod has been looked at yet'));
    metrics.add({
      type: 'gauge',
      name: 'kubus_volume_pods',
      help: 'Pods that volumes are looked after for, and those of which some can not be made or removed.',
      labelNames: ['state'],
      collect: () => [
        { value: manager.count, labels: { state: 'all' } },
        { value: manager.failing, labels: { state: 'failing' } },
      ],
    });
    return { stop: () => manager.stop() };
  },
};
