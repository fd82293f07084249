import * as z from 'zod';

/** How many containers that have ended are kept, as with the flags of the kubelet; see docs/tasks/pressure.md. */
export const deadContainersSchema = z.strictObject({
  /** Of each container, besides its running one (--maximum-dead-containers-per-container). */
  perContainer: z.int().default(1),
  /** On the whole node (--maximum-dead-containers). */
  total: z.int().default(-1),
  /** Milliseconds since its creation before which none is removed (--minimum-container-ttl-duration). */
  minAgeMs: z.number().nonnegative().default(0),
});
