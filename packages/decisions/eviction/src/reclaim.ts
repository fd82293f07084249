import type { Disks } from './disks.ts';
import { SIGNALS, type Signal } from './signals.ts';

/** What a node can do without: containers of pods that have ended, and images that no container uses. */
export type Reclaimable = 'containers' | 'images';

const both: readonly Reclaimable[] = ['containers', 'images'];

/** What is removed for a signal before a pod has to go, in this order (pkg/kubelet/eviction, buildSignalToNodeReclaimFuncs). */
export function reclaimableFor(signal: Signal, disks: Disks): readonly Reclaimable[] {
  if (SIGNALS[signal].condition !== 'DiskPressure') return [];
  if (disks === 'one') return both;
  if (disks === 'split') return signal.startsWith('imagefs') ? ['images'] : ['containers'];
  return signal.startsWith('nodefs') ? [] : both;
}
