import { sameSize, sizeOf } from '@kubus/admission';
import type { Container, Pod } from '@kubus/contracts';
import type { PodSync, RecordSync } from '../sync/pod-sync.ts';
import type { ResizeSync } from './resize-state.ts';

/** What recording a container's resources uses. */
export type RecordSizeSync = PodSync & ResizeSync & RecordSync;

/** Records the resources with which a container is about to be created. */
export async function recordSize(sync: RecordSizeSync, pod: Pod, container: Container): Promise<void> {
  const { sizes } = sync.resize;
  const size = sizeOf(pod, container);
  if (sameSize(sizes.containers[container.name], size)) return;
  keepSize(sync, container.name, size);
  await sync.save();
}

/** Notes the resources of a container; the record is written with the next save. */
export function keepSize({ resize }: ResizeSync, name: string, size: NonNullable<Container['resources']>): void {
  resize.sizes = { ...resize.sizes, containers: { ...resize.sizes.containers, [name]: size } };
}
