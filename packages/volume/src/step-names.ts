import type { VolumeStep } from './step.ts';

/** Where the node finds the volume. */
export function stepPath(step: VolumeStep): string {
  return step.kind === 'content' ? step.folder.path : step.path;
}

/**
 * The name of the reference's plugin that would make the volume, as metrics have it: `kubernetes.io/empty-dir`. That of a
 * CSI driver is behind a colon.
 */
export function pluginName(step: VolumeStep): string {
  if (step.kind === 'host') return 'kubernetes.io/host-path';
  if (step.kind === 'csi') return `kubernetes.io/csi:${step.driver}`;
  // Its folders are named after it.
  return `kubernetes.io/${/\/kubernetes\.io~([^/]+)\//.exec(stepPath(step))?.[1] ?? 'unknown'}`;
}
