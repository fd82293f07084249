import type { Container, Pod, PodAllocation, ResourceRequirements } from '@kubus/contracts';

/** The message of an event about a resize: a text, and the resources that it is about (behaviour:resize, events). */
export function resizeMessage(
  text: string,
  { spec }: Pick<Pod, 'spec'>,
  { generation, containers, error }: Pick<PodAllocation, 'generation'> & Partial<PodAllocation> & { error?: string },
): string {
  const listed = (list: readonly Container[]) =>
    list.map(({ name, resources }) => ({ name, resources: written(containers?.[name] ?? resources ?? {}) }));
  const summary = {
    ...((spec.initContainers?.length ?? 0) > 0 && { initContainers: listed(spec.initContainers ?? []) }),
    containers: listed(spec.containers),
    generation: generation ?? 0,
    ...(error !== undefined && { error }),
  };
  return `${text}: ${JSON.stringify(summary)}`;
}

/** Fields and resources in the order of their names. */
function written({ limits, requests }: ResourceRequirements): object {
  const sorted = (list: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    ...(limits !== undefined && { limits: sorted(limits) }),
    ...(requests !== undefined && { requests: sorted(requests) }),
  };
}

/** Why a memory limit is not lowered (behaviour:resize, guard). `usedBytes` undefined: unknown. */
export function belowUsage(name: string | undefined, limitBytes: bigint, usedBytes: bigint | undefined): string {
  const what = name === undefined ? 'pod' : `container ${JSON.stringify(name)}`;
  if (usedBytes === undefined) return `missing ${what} memory usage`;
  return `attempting to set ${what} memory limit (${limitBytes}) below current usage (${usedBytes})`;
}
