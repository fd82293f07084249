import { verificationPolicies } from '@kubus/images';
import * as z from 'zod';

const percent = z.int().min(0).max(100);

/**
 * Pulls, credentials and removal of images. Names in parentheses are those of the reference's KubeletConfiguration, or of its flag.
 */
export const imagesSchema = z
  .strictObject({
    /** Pulls that may start per second (registryPullQPS). 0: unlimited. */
    pullQps: z.number().nonnegative().default(5),
    /** Pulls that may start at once after an idle time (registryBurst). */
    pullBurst: z.int().positive().default(10),
    /** One pull after another (serializeImagePulls). Default: yes, unless `maxParallel` is 2 or more. */
    serialize: z.boolean().optional(),
    /** Pulls at once where they are not serialized (maxParallelImagePulls). Default: unlimited. */
    maxParallel: z.int().positive().optional(),
    /** Plugins that supply credentials for registries. */
    providers: z
      .strictObject({
        /** A CredentialProviderConfig, or a folder of them (--image-credential-provider-config). */
        config: z.string(),
        /** Folder of the plugins (--image-credential-provider-bin-dir). */
        binDir: z.string(),
      })
      .optional(),
    /** Which present images a pod may use only with credentials that could pull them. */
    verification: z
      .strictObject({
        /** imagePullCredentialsVerificationPolicy */
        policy: z.enum(verificationPolicies).default('NeverVerifyPreloadedImages'),
        /** Names without tag, or prefixes that end with `/*` (preloadedImagesVerificationAllowlist). */
        allowlist: z.array(z.string()).default([]),
      })
      .prefault({}),
    /** When images are removed. Percentages are of the capacity of the file system that holds them. */
    gc: z
      .strictObject({
        /** imageGCHighThresholdPercent */
        highPercent: percent.default(85),
        /** imageGCLowThresholdPercent */
        lowPercent: percent.default(80),
        /** Milliseconds (imageMinimumGCAge). */
        minAgeMs: z.number().nonnegative().default(120_000),
        /** Milliseconds without use (imageMaximumGCAge). 0: no limit. */
        maxAgeMs: z.number().nonnegative().default(0),
        /** Images that are never removed: the runtime's sandbox image, if the runtime does not pin it itself. */
        keep: z.array(z.string()).default([]),
      })
      .refine(({ highPercent, lowPercent }) => lowPercent < highPercent, {
        error: 'must be below highPercent',
        path: ['lowPercent'],
      })
      .prefault({}),
  })
  .refine(({ serialize, maxParallel = 1 }) => serialize !== true || maxParallel === 1, {
    error: 'must be 1 if serialize is true',
    path: ['maxParallel'],
  });
