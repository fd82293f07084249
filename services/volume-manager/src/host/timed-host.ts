import type { Distribution } from '@kubus/metrics';

import { pluginName } from '@kubus/volume';
import { VolumeAwaits, type VolumeHost } from '../ports.ts';

/** Histogram buckets in seconds, as the reference's (pkg/volume/util, StorageOperationMetric). */
export const OPERATION_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** How long making volumes takes, in seconds. */
export interface VolumeTimes {
  readonly operations: Distribution;
  /** The same, by plugin and operation alone. */
  readonly wholes: Distribution;
}

/**
 * Wraps a host to measure how long making volumes takes.
 *
 * @param now milliseconds
 */
export function timedHost(host: VolumeHost, { operations, wholes }: VolumeTimes, now: () => number): VolumeHost {
  return {
    ...host,
    make: async (step, report) => {
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
        const made = await host.make(step, report);
        ended('success');
        return made;
      } catch (error) {
        // Something that is not available yet is not a failure of the host.
        if (!(error instanceof VolumeAwaits)) ended('fail-unknown');
        throw error;
      }
    },
  };
}
