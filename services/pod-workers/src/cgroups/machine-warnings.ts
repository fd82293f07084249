import type { KernelMemory } from '@kubus/cgroup';
import { hasNoSwap } from '@kubus/volume';
import type { NodeEventText } from '../core.ts';

/** What the node's operators should know about the machine (behaviour:qos-and-cgroups), in the reference's words. */
export function machineWarnings(
  { cgroupVersion }: Pick<KernelMemory, 'cgroupVersion'>,
  { swapBytes, kernelVersion }: { readonly swapBytes: number; readonly kernelVersion: string },
): NodeEventText[] {
  const warnings: NodeEventText[] = [];
  if (cgroupVersion === 1) {
    warnings.push({
      type: 'Warning',
      reason: 'CgroupV1',
      message:
        'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1',
    });
  }
  if (swapBytes > 0 && !hasNoSwap(kernelVersion)) {
    warnings.push({
      type: 'Warning',
      reason: 'PossibleMemoryBackedVolumesOnDisk',
      message:
        'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
    });
  }
  return warnings;
}
