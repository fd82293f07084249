import { ImageSchema, PodSandboxConfigSchema } from '@kubus/proto/cri';
import * as z from 'zod';
import { command, event, fact } from '../declare.ts';
import { nodeEventSchema, podRefSchema } from './common.ts';
import { objectVersionSchema } from './object.ts';

/** What is asked about an image, and for whom. Credentials are named, never sent (DESIGN rule 10). */
const imageRequestSchema = z.object({
  /** With a tag or a digest, otherwise as the pod names it. */
  image: z.string(),
  pod: podRefSchema,
  /** The pod's `imagePullSecrets` that there are: their values are read where they are used. */
  pullSecrets: z.array(objectVersionSchema),
  /** The pod's service account, whose tokens open registries to some credential providers. Missing: it has none. */
  serviceAccount: z.string().optional(),
});
export type ImageRequest = z.infer<typeof imageRequestSchema>;

export const findImage = command({
  area: 'runtime',
  name: 'findImage',
  key: 'pod',
  server: 'cri-bridge',
  fenced: false,
  request: imageRequestSchema,
  result: z.object({
    /** Missing when the runtime does not have it. */
    image: ImageSchema.optional(),
    /** Whether the pod's credentials allow it to use the image as it is; else it has to be pulled with them (KEP-2535). */
    mayUse: z.boolean(),
  }),
  about: 'Whether the runtime has an image, and whether this pod may use it without pulling it.',
});

const pullRequestSchema = imageRequestSchema.extend({
  /** The pod's annotations, which the runtime gets with the image's name. */
  annotations: z.record(z.string(), z.string()),
  sandboxConfig: PodSandboxConfigSchema.optional(),
});
export type PullRequest = z.infer<typeof pullRequestSchema>;

const pulledSchema = z.object({
  /** What the runtime calls the image from now on. */
  imageRef: z.string(),
  /** Missing where the runtime does not tell of it. */
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
  about: 'Pull an image with the credentials of pod and node when its turn has come; fails with the code pull-failed.',
});

export const imagePullSchema = z.object({
  image: z.string(),
  /** `queued`: it waits for other pulls. */
  state: z.enum(['queued', 'pulling']),
  /** RFC 3339: since when it is in this state. */
  since: z.string(),
  /** Queued pulls that begin before this one. */
  ahead: z.int().nonnegative().optional(),
  /** Who waits for it. */
  pods: z.array(podRefSchema),
});
export type ImagePull = z.infer<typeof imagePullSchema>;

export const imagePull = fact({
  area: 'runtime',
  name: 'imagePull',
  key: 'name',
  owner: 'cri-bridge',
  payload: imagePullSchema,
  about: 'A pull of an image that waits for its turn or goes on. Gone when it has ended.',
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
    /** Size of the image, where the runtime tells it. */
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
  about:
    'The images that the runtime has, keyed by the node’s name. Read anew every 30 s and after each pull or removal.',
});

export const runtimeNodeEvent = event({
  area: 'runtime',
  name: 'nodeRecorded',
  key: 'name',
  publisher: 'cri-bridge',
  payload: nodeEventSchema,
  about:
    'Something about images or the runtime that the node’s operators should hear of, as a Kubernetes Event would tell it.',
});
