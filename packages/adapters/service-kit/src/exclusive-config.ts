import * as z from 'zod';

/** CPUs and memory that containers of Guaranteed pods have for themselves. */
export const exclusiveSchema = z.strictObject({
  /** `static`: containers that request whole CPUs have them for themselves (cpuManagerPolicy). */
  cpuPolicy: z.enum(['none', 'static']).default('none'),
  /** cpuManagerPolicyOptions */
  cpuOptions: z.record(z.string(), z.string()).default({}),
  /** Which options are allowed (the gates CPUManagerPolicyAlphaOptions and CPUManagerPolicyBetaOptions). */
  gates: z.strictObject({ alpha: z.boolean().default(false), beta: z.boolean().default(true) }).prefault({}),
  /** Containers with CPUs of their own have no CPU quota (the gate DisableCPUQuotaWithExclusiveCPUs). */
  withoutQuota: z.boolean().default(true),
  /** Pods with resources of their own have exclusive things, too (the gates PodLevelResourceManagers and PodLevelResources). */
  podLevel: z.boolean().default(false),
  /** How soon the CPUs of a running container are set again after that failed (cpuManagerReconcilePeriod), in milliseconds. */
  reconcileMs: z.number().positive().default(10_000),
  /** CPUs for the system, as a list such as `0-3,8`; empty: chosen (reservedSystemCPUs). Their number is what `reserved` says. */
  reservedCpus: z.string().default(''),
  /** `Static`: containers have memory of NUMA nodes for themselves (memoryManagerPolicy). */
  memoryPolicy: z.enum(['None', 'Static']).default('None'),
  /** Bytes by resource that each NUMA node keeps (reservedMemory). */
  reservedMemory: z
    .array(z.strictObject({ numaNode: z.int().nonnegative(), limits: z.record(z.string(), z.number().nonnegative()) }))
    .default([]),
});

/**
 * Where pods with resources of their own have exclusive things: each container on its own, or the pod as a whole, as it is aligned;
 * undefined: they have none.
 */
export function podLevelOf({
  exclusive,
  devices,
}: {
  readonly exclusive: Pick<z.infer<typeof exclusiveSchema>, 'podLevel'>;
  readonly devices: { readonly topologyPolicy: string; readonly topologyScope: 'container' | 'pod' };
}): 'container' | 'pod' | undefined {
  if (!exclusive.podLevel) return undefined;
  return devices.topologyPolicy === 'none' ? 'container' : devices.topologyScope;
}
