import * as z from 'zod';

/** Thresholds of the node's signals, as in KubeletConfiguration; see docs/tasks/pressure.md. */
export const evictionSchema = z.strictObject({
  /** evictionHard; that of `reserved` is without effect here. */
  hard: z.record(z.string(), z.string()).default({}),
  /** evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim */
  soft: z.record(z.string(), z.string()).default({}),
  softGracePeriod: z.record(z.string(), z.string()).default({}),
  minimumReclaim: z.record(z.string(), z.string()).default({}),
  /** The hard threshold of memory also counts within the limit of all pods (enforceNodeAllocatable: pods). */
  ofAllocatable: z.boolean().default(false),
  /** How long a condition lasts after its reason has ended, in milliseconds (evictionPressureTransitionPeriod). */
  transitionMs: z.number().nonnegative().default(300_000),
  /** The longest grace period of a pod that is evicted by a soft threshold, in seconds (evictionMaxPodGracePeriod). */
  maxPodGraceSeconds: z.int().nonnegative().default(0),
  /** The native program that waits for the kernel to say that memory is short (kernelMemcgNotification). Omitted: nothing does. */
  memoryWatch: z.string().optional(),
  /** Pods that exceed their limits of ephemeral-storage, or the size limits of their volumes, are evicted, and the node has that resource (localStorageCapacityIsolation). */
  storageLimits: z.boolean().default(true),
});
