import { CONFIG_SEEN, type ManifestReport, type Pod, type PodRef, podSchema } from '@kubus/contracts';
import * as z from 'zod';

/** What the API server says about one pod. */
export interface ApiPod {
  readonly ref: PodRef;
  /** Undefined when it is nothing that the node could take for a pod. */
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
 * Reads a pod as the API server gives it. It was validated and given its defaults there. Without `managedFields`, which are
 * half of its size and mean nothing to a node.
 *
 * @param seenAt RFC 3339, for a pod that is seen for the first time
 * @throws ZodError for an object without a name, which a list of pods does not have
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
