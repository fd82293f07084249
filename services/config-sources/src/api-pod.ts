import { CONFIG_SEEN, type ManifestReport, type Pod, type PodRef, podSchema } from '@kubus/contracts';
import * as z from 'zod';

/** A pod as the API server returned it, parsed. */
export interface ApiPod {
  readonly ref: PodRef;
  /** Undefined when the object is not a usable pod. */
  readonly pod: Pod | undefined;
  /** What is wrong with it. */
  readonly errors: ManifestReport['errors'];
}

const identitySchema = z.object({
  metadata: z.looseObject({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    annotations: z.record(z.string(), z.unknown()).nullish(),
  }),
});

/**
 * Parses a pod of the API server, which has validated it and set its defaults. Drops `managedFields`, which are half
 * of its size and irrelevant to a node.
 *
 * @param seenAt RFC 3339, for a pod that is seen for the first time
 * @throws ZodError for an object without a name, which no list of pods contains
 */
export function readApiPod(object: unknown, seenAt: string): ApiPod {
  const { metadata } = identitySchema.parse(object);
  const { namespace, name, uid } = metadata;
  const parsed = podSchema.safeParse({
    ...(object as object),
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      managedFields: undefined,
      annotations: { ...metadata.annotations, [CONFIG_SEEN]: seenAt },
    },
  });
  return {
    ref: { namespace, name, uid },
    pod: parsed.data,
    errors: (parsed.error?.issues ?? []).map(({ path, message }) => ({ document: 0, field: path.join('.'), message })),
  };
}
