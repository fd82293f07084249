import { sameResources } from '@kubus/admission';
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
 * What a pod was last given, which is what it has: written down before a container is made, and after each step of a resize
 * (kubelet behaviour 1.18, state files). The runtime need not be able to tell.
 */
export const podSizesSchema = z.object({
  /** Of which the limits of the pod's cgroup were made. */
  cgroup: podAllocationSchema.optional(),
  /** By container name, CPU and memory with the limits that come from the pod as a whole. */
  containers: z.record(z.string(), resourceRequirementsSchema),
});
export type PodSizes = z.infer<typeof podSizesSchema>;

export const noSizes: PodSizes = { containers: {} };

/** Resources that can be changed in place (KEP-1287). */
export const RESIZABLE = ['memory', 'cpu'] as const;
export type Resizable = (typeof RESIZABLE)[number];

/** CPU and memory of a container; a limit that it does not have itself is that of its pod (KEP-2837). */
export function sizeOf({ spec }: Pick<Pod, 'spec'>, { resources }: Pick<Container, 'resources'>): ResourceRequirements {
  const { requests, limits } = resources ?? {};
  return { requests: resizable(requests), limits: { ...resizable(spec.resources?.limits), ...resizable(limits) } };
}

/** Undefined: nothing is known of it, which for a container without any is the same as none. */
export function sameSize(known: ResourceRequirements | undefined, size: ResourceRequirements): boolean {
  return sameResources(known ?? {}, size);
}

function resizable(list: ResourceList = {}): ResourceList {
  return Object.fromEntries(RESIZABLE.flatMap((name) => (list[name] === undefined ? [] : [[name, list[name]]])));
}
