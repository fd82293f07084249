import type { Distribution } from '@kubus/metrics';

import { pluginName } from '@kubus/volume';
import { VolumeAwaits, type VolumeHost } from './ports.ts';

/** Seconds, as the reference's (pkg/volume/util, StorageOperationMetric). */
export const OPERATION_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** How long it takes to make volumes, in seconds. */
export interface VolumeTimes {
  readonly operations: Distribution;
  /** The same by plugin and operation alone. */
  readonly wholes: Distribution;
}

/**
 * A host whose making of volumes is timed.
 *
 * @param now milliseconds
 */
export function timedHost(host: VolumeHost, { operations, wholes }: VolumeTimes, now: () => number): VolumeHost {
  return {
    ...host,
    make: async (step, tell) => {
      const began = now();
      const isDevice = step.kind === 'localDevice' || (step.kind === 'csi' && step.block);
      const ended = (status: string) => {
        const plugin = pluginName(step);
        const operation = isDevice ? 'map_volume' : 'volume_mount';
        const seconds = (now() - began) / 1000;
        operations.observe({ volume_plugin: plugin, operation_name: operation, status, migrated: 'false' }, seconds);
        wholes.observe({ plugin_name: plugin, operation_name: operation }, seconds);
      };
      try {
        const made = await host.make(step, tell);
        ended('success');
        return made;
      } catch (error) {
        // What is not known yet is not the host's failure.
        if (!(error instanceof VolumeAwaits)) ended('fail-unknown');
        throw error;
      }
    },
  };
}
