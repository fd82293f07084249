import { makeShared, useMountHelper } from '@kubus/filesystem';
import { Distribution } from '@kubus/metrics';
import { ObjectClient } from '@kubus/object-socket';
import { FileRecordStore, type ServiceDefinition, nodeResources } from '@kubus/service-kit';
import { hasNoSwap } from '@kubus/volume';
import { mkdir, realpath } from 'node:fs/promises';
import { release, totalmem } from 'node:os';
import { join } from 'node:path';
import { CsiService } from './csi/csi-service.ts';
import { OPERATION_SECONDS, timedHost } from './host/timed-host.ts';
import { ProjectQuotas } from './host/project-quotas.ts';
import { createVolumeHost } from './host/volume-host.ts';
import { VolumeManager } from './volume-manager.ts';
import { addVolumeMetrics } from './usage/volume-metrics.ts';
import { volumeUsage } from './usage/volume-usage.ts';
import { VolumeUsages, serveVolumeStats } from './usage/volume-usages.ts';

export { CsiService } from './csi/csi-service.ts';
export type { CsiVolumes } from './csi/csi-volumes.ts';
export { type VolumeHost } from './ports.ts';
export { createVolumeHost } from './host/volume-host.ts';
export { volumeRecordSchema } from './pod/volume-record.ts';
export { VolumeManager } from './volume-manager.ts';

/** The service `volume-manager`. */
export const volumeManager: ServiceDefinition = {
  name: 'volume-manager',
  start: async ({ config, bus, clock, logger, health, metrics, reserve, stateDir }) => {
    await mkdir(config.pods.root, { recursive: true, mode: 0o750 });
    const root = await realpath(config.pods.root);
    if (config.pods.mountHelper !== undefined) useMountHelper(config.pods.mountHelper);
    // Shared, for pods that ask for mount propagation between containers and the node.
    await makeShared(root);
    const objects = config.objects && new ObjectClient(config.objects.socket);
    const csi = await CsiService.start({ root, bus, clock, logger, values: objects });
    const quotas = new ProjectQuotas({ root, logger });
    await quotas.releaseMissing();
    const times = { operations: new Distribution(OPERATION_SECONDS), wholes: new Distribution(OPERATION_SECONDS) };
    const manager = await VolumeManager.start({
      bus,
      clock,
      logger,
      records: new FileRecordStore({ dir: join(stateDir, 'pods'), logger, reserve }),
      host: timedHost(createVolumeHost({ root, clock, logger, objects, csi: csi.volumes, quotas }), times, () =>
        clock.now(),
      ),
      csiUses: () => csi.volumes.uses,
      objects,
      settings: {
        root,
        memory: BigInt(totalmem()),
        noSwap: hasNoSwap(release()),
        projectQuotas: config.pods.projectQuotas,
      },
      ...(config.apiServer === undefined && { allocatable: nodeResources(config) }),
      sizeLimits: config.eviction.storageLimits,
      eventRate: config.events,
    });
    csi.onRegistered(() => manager.tryAgain());
    health.ready('pods', () => (manager.ready ? undefined : 'not every pod has been checked yet'));
    const volumes = () => manager.volumes;
    const usages = new VolumeUsages({ clock, volumes, usage: ({ step }) => volumeUsage(step, csi.volumes, quotas) });
    serveVolumeStats(bus, usages);
    addVolumeMetrics(metrics, { times, usages, volumes });
    metrics.add({
      type: 'gauge',
      name: 'kubus_volume_pods',
      help: 'Pods with managed volumes, and pods with a volume that cannot be made or removed.',
      collect: () => [
        { value: manager.count, labels: { state: 'all' } },
        { value: manager.failing, labels: { state: 'failing' } },
      ],
    });
    return {
      stop: async () => {
        await csi.stop();
        await manager.stop();
      },
    };
  },
};
