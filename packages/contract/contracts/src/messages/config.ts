import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { podUpdateSchema } from '../pod/index.ts';
import { nodeEventSchema, podEventSchema, podRefSchema } from './common.ts';

const desired = (name: 'file' | 'http' | 'api', from: string) =>
  fact({
    area: 'config',
    name,
    key: 'pod',
    owner: 'config-sources',
    payload: podUpdateSchema,
    about: `A desired pod from ${from}. The set is complete once the source has been read as a whole.`,
  });

/** The desired pods, one set per source. */
export const desiredPods = {
  file: desired('file', 'the manifest folder'),
  http: desired('http', 'the manifest URL'),
  api: desired('api', 'the API server'),
} as const;

export const sourceNames = ['file', 'http', 'api'] as const;
export type SourceName = (typeof sourceNames)[number];

export const configuredSources = fact({
  area: 'config',
  name: 'sources',
  key: 'name',
  owner: 'config-sources',
  payload: z.object({ sources: z.array(z.enum(sourceNames)) }),
  about: 'The pod sources of this node. Nothing is cleaned up before the sets of all sources are complete.',
});

const manifestIssueSchema = z.object({
  /** Position of the document in its file, from 0. */
  document: z.int().nonnegative(),
  /** Path of the invalid field, such as `spec.containers[0].name`. */
  field: z.string().optional(),
  message: z.string(),
  line: z.int().positive().optional(),
});

const unusedPodSchema = z.object({
  pod: podRefSchema,
  /** The field that another pod has, too. */
  field: z.enum(['metadata.name', 'metadata.uid']),
  /** The pod that is run, and its manifest. */
  other: podRefSchema,
  path: z.string(),
});
export type UnusedPod = z.infer<typeof unusedPodSchema>;

export const manifestReportSchema = z.object({
  path: z.string(),
  readAt: z.string(),
  pods: z.array(podRefSchema),
  errors: z.array(manifestIssueSchema),
  warnings: z.array(manifestIssueSchema),
  /** Pods of the manifest that are not run, since other pods have their names or UIDs. */
  unused: z.array(unusedPodSchema).optional(),
});
export type ManifestReport = z.infer<typeof manifestReportSchema>;

export const manifest = fact({
  area: 'config',
  name: 'manifest',
  key: 'name',
  owner: 'config-sources',
  payload: manifestReportSchema,
  about: 'The result of the last read of a manifest file: its pods and its errors.',
});

export const configEvent = event({
  area: 'config',
  name: 'recorded',
  key: 'pod',
  publisher: 'config-sources',
  payload: podEventSchema,
  about: 'A Kubernetes event about a pod of a source, such as a name that is already in use.',
});

export const configNodeEvent = event({
  area: 'config',
  name: 'nodeRecorded',
  key: 'name',
  publisher: 'config-sources',
  payload: nodeEventSchema,
  about: 'A Kubernetes event about the node: a manifest that cannot be used, or only in part.',
});
