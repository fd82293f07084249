import { sameSize, sizeOf } from '@kubus/admission';
import type { Container, Pod } from '@kubus/contracts';
import type { ContainerStart } from '@kubus/pod-lifecycle';
import type { PodSync, RecordSync } from '../sync/pod-sync.ts';
import type { ResizeSync } from './resize-state.ts';

/** What recording containers' resources uses. */
export type RecordSizeSync = PodSync & ResizeSync & RecordSync;

/** Records the resources with which containers are about to be created, with one write for all. */
export async function recordSizes(sync: RecordSizeSync, pod: Pod, start: readonly ContainerStart[]): Promise<void> {
  const before = sync.resize.sizes;
  for (const { kind, container, created } of start) {
    if (created !== undefined || (kind !== 'regular' && kind !== 'sidecar')) continue;
    const size = sizeOf(pod, container);
    if (!sameSize(before.containers[container.name], size)) keepSize(sync, container.name, size);
  }
  if (sync.resize.sizes !== before) await sync.save();
}

/** Notes the resources of a container; the record is written with the next save. */
export function keepSize({ resize }: ResizeSync, name: string, size: NonNullable<Container['resources']>): void {
  resize.sizes = { ...resize.sizes, containers: { ...resize.sizes.containers, [name]: size } };
}
