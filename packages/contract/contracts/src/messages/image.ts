import { ImageSchema, PodSandboxConfigSchema } from '@kubus/proto/cri';
import * as z from 'zod';
import { command, event, fact } from '../declare.ts';
import { nodeEventSchema, podRefSchema } from './common.ts';
import { objectVersionSchema } from './object.ts';

/** A request about an image, and the pod for which it is made. Credentials are named, never sent (rule:secrets). */
const imageRequestSchema = z.object({
  /** With a tag or a digest, or else as the pod names it. */
  image: z.string(),
  pod: podRefSchema,
  /** The pod's `imagePullSecrets` that exist; their values are read where they are used. */
  pullSecrets: z.array(objectVersionSchema),
  /** The pod's service account; some credential providers use its tokens for registries. Missing: the pod has none. */
  serviceAccount: z.string().optional(),
});
export type ImageRequest = z.infer<typeof imageRequestSchema>;

const findRequestSchema = imageRequestSchema.extend({
  /** Further images that the pod needs, named like the first one. */
  others: z.array(z.string()).optional(),
});
export type FindRequest = z.infer<typeof findRequestSchema>;

const foundImageSchema = z.object({
  /** Missing when the runtime does not have it. */
  image: ImageSchema.optional(),
  /** Whether the pod's credentials allow it to use the image without a pull; otherwise it has to be pulled with them (KEP-2535). */
  mayUse: z.boolean(),
});
export type FoundImage = z.infer<typeof foundImageSchema>;

const foundImagesSchema = foundImageSchema.extend({
  /** The further images of the request, by name; one that could not be looked up is missing: ask for it alone. */
  others: z.record(z.string(), foundImageSchema).optional(),
});
export type FoundImages = z.infer<typeof foundImagesSchema>;

export const findImage = command({
  area: 'runtime',
  name: 'findImage',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: findRequestSchema,
  result: foundImagesSchema,
  about: 'Which of these images the runtime has, and whether this pod may use them without pulling them.',
});

export const freeImages = command({
  area: 'runtime',
  name: 'freeImages',
  key: 'name',
  server: 'cri-bridge',
  fenced: false,
  request: z.object({}),
  result: z.object({
    images: z.int().nonnegative(),
    /** The bytes that the runtime reported for them. */
    bytes: z.number().nonnegative(),
  }),
  about: 'Remove all images that no container uses, except for those that are younger than imageMinimumGCAge.',
});

const pullRequestSchema = imageRequestSchema.extend({
  /** The pod's annotations, which the runtime receives with the image's name. */
  annotations: z.record(z.string(), z.string()),
  sandboxConfig: PodSandboxConfigSchema.optional(),
});
export type PullRequest = z.infer<typeof pullRequestSchema>;

const pulledSchema = z.object({
  /** The runtime's reference to the image from now on. */
  imageRef: z.string(),
  /** Missing where the runtime does not report it. */
  image: ImageSchema.optional(),
  /** Milliseconds that the pull itself took, without waiting for its turn. */
  pullMs: z.number(),
});
export type Pulled = z.infer<typeof pulledSchema>;

export const pullImage = command({
  area: 'runtime',
  name: 'pullImage',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: pullRequestSchema,
  result: pulledSchema,
  about:
    'Pull an image with the credentials of the pod and the node, after the pulls that are queued before it. Fails with the code pull-failed.',
});

export const imagePullSchema = z.object({
  image: z.string(),
  /** `queued`: it waits for other pulls. */
  state: z.enum(['queued', 'pulling']),
  /** RFC 3339: since when it is in this state. */
  since: z.string(),
  /** Queued pulls that start before this one. */
  ahead: z.int().nonnegative().optional(),
  /** The pods that are waiting for it. */
  pods: z.array(podRefSchema),
});
export type ImagePull = z.infer<typeof imagePullSchema>;

export const imagePull = fact({
  area: 'runtime',
  name: 'imagePull',
  key: 'name',
  owner: 'cri-bridge',
  payload: imagePullSchema,
  about: 'An image pull that is queued or in progress. Removed when it has ended.',
});

export const imagePulled = event({
  area: 'runtime',
  name: 'imagePulled',
  key: 'name',
  publisher: 'cri-bridge',
  payload: z.object({
    image: z.string(),
    pods: z.array(podRefSchema),
    /** Milliseconds. */
    waitedMs: z.number(),
    pullMs: z.number(),
    /** Size of the image in bytes, where the runtime reports it. */
    bytes: z.number().optional(),
    /** Why it failed. */
    error: z.string().optional(),
  }),
  about: 'A pull has ended.',
});

export const runtimeImages = fact({
  area: 'runtime',
  name: 'images',
  key: 'name',
  owner: 'cri-bridge',
  payload: z.object({
    images: z.array(
      z.object({
        /** References by digest first, then by tag. */
        names: z.array(z.string()),
        sizeBytes: z.number().nonnegative(),
      }),
    ),
  }),
  about: 'The images that the runtime has, keyed by the node’s name. Read every 30 s and after each pull or removal.',
});

export const runtimeNodeEvent = event({
  area: 'runtime',
  name: 'nodeRecorded',
  key: 'name',
  publisher: 'cri-bridge',
  payload: nodeEventSchema,
  about: 'A Kubernetes event about images or the runtime, for the node’s operators.',
});
