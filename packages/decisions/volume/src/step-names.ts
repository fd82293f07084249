import type { VolumeStep } from './step.ts';

/** The path of the volume on the node. */
export function stepPath(step: VolumeStep): string {
  return step.kind === 'content' ? step.folder.path : step.path;
}

/**
 * The name of the reference's plugin for the volume, as used in metrics: `kubernetes.io/empty-dir`. The name of a
 * CSI driver follows after a colon.
 */
export function pluginName(step: VolumeStep): string {
  if (step.kind === 'host') return 'kubernetes.io/host-path';
  if (step.kind === 'csi') return `kubernetes.io/csi:${step.driver}`;
  // Its folders are named after it.
  return `kubernetes.io/${/\/kubernetes\.io~([^/]+)\//.exec(stepPath(step))?.[1] ?? 'unknown'}`;
}
