import { sameResources } from '../allocation.ts';
import {
  type Container,
  type Pod,
  type ResourceList,
  type ResourceRequirements,
  podAllocationSchema,
  resourceRequirementsSchema,
} from '@kubus/contracts';
import * as z from 'zod';

/**
 * The sizes that were last set for a pod: recorded before a container is created, and after each step of a resize
 * (behaviour:resize, state files). The runtime may not be able to report them.
 */
export const podSizesSchema = z.object({
  /** The allocation from which the limits of the pod's cgroup were computed. */
  cgroup: podAllocationSchema.optional(),
  /** By container name: CPU and memory, with the limits that come from the pod as a whole. */
  containers: z.record(z.string(), resourceRequirementsSchema),
});
export type PodSizes = z.infer<typeof podSizesSchema>;

export const noSizes: PodSizes = { containers: {} };

/** Resources that can be changed in place (KEP-1287). */
export const RESIZABLE = ['memory', 'cpu'] as const;
export type Resizable = (typeof RESIZABLE)[number];

/** CPU and memory of a container; a missing limit is that of its pod (KEP-2837). */
export function sizeOf({ spec }: Pick<Pod, 'spec'>, { resources }: Pick<Container, 'resources'>): ResourceRequirements {
  const { requests, limits } = resources ?? {};
  return { requests: resizable(requests), limits: { ...resizable(spec.resources?.limits), ...resizable(limits) } };
}

/** Undefined: nothing is known about it, which for a container without resources is the same as none. */
export function sameSize(known: ResourceRequirements | undefined, size: ResourceRequirements): boolean {
  return sameResources(known ?? {}, size);
}

function resizable(list: ResourceList = {}): ResourceList {
  return Object.fromEntries(RESIZABLE.flatMap((name) => (list[name] === undefined ? [] : [[name, list[name]]])));
}
