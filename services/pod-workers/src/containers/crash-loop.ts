import { formatGoDuration } from '@kubus/pod';
import {
  type ContainerStart,
  backOffRemaining,
  crashLoopKey,
  isLetThrough,
  lengthenBackOff,
  nanosToMs,
} from '@kubus/pod-lifecycle';
import { type PodSync, type RecordSync, recordEvent } from '../sync/pod-sync.ts';
import type { PodMemory } from '../worker/pod-memory.ts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import { StartFailed } from './start-failed.ts';

/** What a container's back-off uses. */
export type BackOffSync = PodSync & RecordSync & Pick<PodMemory, 'backOffs'> & Pick<WorkerDeps, 'clock' | 'crashLoop'>;

/**
 * Applies a container's back-off (behaviour:container-actions): a container that ended recently is not started yet, and one
 * that may start waits longer the next time. Throws {@link StartFailed} with `CrashLoopBackOff`.
 */
export async function applyBackOff(sync: BackOffSync, { container, previous, attempt }: ContainerStart): Promise<void> {
  if (previous?.state !== 'exited') return;
  const { backOffs, clock, crashLoop, ref } = sync;
  const now = clock.now();
  const key = crashLoopKey(container);
  const endedAt = nanosToMs(previous.finishedAt);
  const entry = backOffs.get(key);
  if (isLetThrough(entry, attempt)) return;
  const remaining = backOffRemaining(entry, endedAt, now, crashLoop);
  if (remaining > 0 && entry !== undefined) {
    const wait = formatGoDuration(entry.waitMs);
    const of = `container=${container.name} pod=${ref.name}_${ref.namespace}(${ref.uid})`;
    const text = `Back-off restarting failed container ${container.name} in pod ${ref.name}_${ref.namespace}(${ref.uid})`;
    recordEvent(sync, { type: 'Warning', reason: 'BackOff', message: text, container });
    throw new StartFailed('CrashLoopBackOff', `back-off ${wait} restarting failed ${of}`, { waitMs: remaining });
  }
  backOffs.set(key, { ...lengthenBackOff(entry, endedAt, now, crashLoop), attempt });
  await sync.save();
}

/** A failed attempt waits before it is repeated. */
export function endLetThrough(
  { backOffs }: Pick<PodMemory, 'backOffs'>,
  { container, attempt }: Pick<ContainerStart, 'container' | 'attempt'>,
): void {
  const key = crashLoopKey(container);
  const entry = backOffs.get(key);
  if (entry !== undefined && isLetThrough(entry, attempt)) backOffs.set(key, { ...entry, attempt: undefined });
}
