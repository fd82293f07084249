import * as z from 'zod';

/** Such as `delayed-runtime-events`. */
export const nameSchema = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'must consist of lower-case letters, digits and "-"' });

/** What every experiment has. */
export const headerFields = {
  name: nameSchema,
  /** What it should show, in one sentence. */
  about: z.string().optional(),
  /** How often each arm runs. */
  repetitions: z.int().min(1).max(1000).default(5),
  /** Decides the order of the arms, what happens on a described machine, and the resampling for the confidence intervals. */
  seed: z.int().nonnegative().default(1),
};
