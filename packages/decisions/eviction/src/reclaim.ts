import type { Reclaimed } from '@kubus/contracts';
import type { Disks } from './disks.ts';
import { type Observations, SIGNALS, type Signal } from './signals.ts';

/** What a node can do without: containers of pods that have ended, and images that no container uses. */
export type Reclaimable = Reclaimed['what'];

const both: readonly Reclaimable[] = ['containers', 'images'];

/** What is removed for a signal before a pod has to go, in this order (pkg/kubelet/eviction, buildSignalToNodeReclaimFuncs). */
export function reclaimableFor(signal: Signal, disks: Disks): readonly Reclaimable[] {
  if (SIGNALS[signal].condition !== 'DiskPressure') return [];
  if (disks === 'one') return both;
  if (disks === 'split') return signal.startsWith('imagefs') ? ['images'] : ['containers'];
  return signal.startsWith('nodefs') ? [] : both;
}

/** What of a signal was left before something was removed, and after it. */
export function reclaimedOf(
  what: Reclaimable,
  signal: Signal,
  { before, after }: { readonly before: Observations; readonly after: Observations },
): Reclaimed {
  const [had, has] = [before[signal]?.available, after[signal]?.available];
  return { what, ...(had !== undefined && { before: had }), ...(has !== undefined && { after: has }) };
}
