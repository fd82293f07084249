import type { Metrics, Sample } from '@kubus/service-kit';
import { type ClaimReference, pluginName } from '@kubus/volume';
import type { VolumeUsage } from './file-system-stats.ts';
import type { PodVolume } from '../pod/pod-volumes.ts';
import type { VolumeTimes } from '../host/timed-host.ts';
import { type VolumeUsages, claimOfVolume } from './volume-usages.ts';

export interface VolumeMetricsOptions {
  /** All volumes of all pods. */
  readonly volumes: () => readonly PodVolume[];
  readonly times: VolumeTimes;
  readonly usages: VolumeUsages;
}

const GAUGES: readonly (readonly [keyof VolumeUsage, string, string])[] = [
  ['capacityBytes', 'capacity_bytes', 'Capacity in bytes of the volume'],
  ['availableBytes', 'available_bytes', 'Number of available bytes in the volume'],
  ['usedBytes', 'used_bytes', 'Number of used bytes in the volume'],
  ['inodes', 'inodes', 'Maximum number of inodes in the volume'],
  ['inodesFree', 'inodes_free', 'Number of free inodes in the volume'],
  ['inodesUsed', 'inodes_used', 'Number of used inodes in the volume'],
];

/** The reference's volume metrics, under its names (behaviour:agent-metrics). */
export function addVolumeMetrics(metrics: Metrics, options: VolumeMetricsOptions): void {
  const { times, usages, volumes } = options;
  metrics.add({
    type: 'gauge',
    name: 'volume_manager_total_volumes',
    help: 'Number of volumes in Volume Manager',
    collect: () => [
      ...countByPlugin(volumes(), 'desired_state_of_world'),
      ...countByPlugin(
        volumes().filter(({ mounted }) => mounted !== undefined),
        'actual_state_of_world',
      ),
    ],
  });
  metrics.add({
    type: 'histogram',
    name: 'storage_operation_duration_seconds',
    help: 'Storage operation duration',
    values: times.operations,
  });
  metrics.add({
    type: 'histogram',
    name: 'volume_operation_total_seconds',
    help: 'Storage operation end to end duration in seconds',
    values: times.wholes,
  });
  metrics.add({
    type: 'histogram',
    name: 'kubelet_volume_metric_collection_duration_seconds',
    help: 'Duration in seconds to calculate volume stats',
    values: usages.seconds,
  });
  for (const [field, name, help] of GAUGES) {
    metrics.add({
      type: 'gauge',
      name: `kubelet_volume_stats_${name}`,
      help,
      collect: async () =>
        (await claimUsages(usages)).map(({ claim, usage }) => ({
          value: usage[field],
          labels: { namespace: claim.namespace, persistentvolumeclaim: claim.name },
        })),
    });
  }
}

function countByPlugin(volumes: readonly PodVolume[], state: string): Sample[] {
  const counts = new Map<string, number>();
  for (const { step } of volumes) counts.set(pluginName(step), (counts.get(pluginName(step)) ?? 0) + 1);
  return [...counts].map(([plugin, value]) => ({ value, labels: { plugin_name: plugin, state } }));
}

interface ClaimUsage {
  readonly claim: ClaimReference;
  readonly usage: VolumeUsage;
}

/** Pods may share a claim. */
async function claimUsages(usages: VolumeUsages): Promise<ClaimUsage[]> {
  const byClaim = new Map<string, ClaimUsage>();
  for (const { volume, usage } of await usages.read()) {
    const claim = claimOfVolume(volume);
    if (claim !== undefined) byClaim.set(`${claim.namespace}/${claim.name}`, { claim, usage });
  }
  return [...byClaim.values()];
}
