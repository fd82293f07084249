import * as z from 'zod';
import { event, fact } from '../declare.ts';
import { podUpdateSchema } from '../pod/index.ts';
import { podEventSchema, podRefSchema } from './common.ts';

const desired = (name: 'file' | 'http' | 'api', from: string) =>
  fact({
    area: 'config',
    name,
    key: 'pod',
    owner: 'config-sources',
    payload: podUpdateSchema,
    about: `A pod that ${from} wants on this node. The set is complete once the source has been read as a whole.`,
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
  about: 'Which sources this node has: nothing is cleaned up before the sets of all of them are complete.',
});

const manifestIssueSchema = z.object({
  /** Position of the document in its file, from 0. */
  document: z.int().nonnegative(),
  /** Path of the wrong field, such as `spec.containers[0].name`. */
  field: z.string().optional(),
  message: z.string(),
  line: z.int().positive().optional(),
});

export const manifestReportSchema = z.object({
  path: z.string(),
  readAt: z.string(),
  pods: z.array(podRefSchema),
  errors: z.array(manifestIssueSchema),
  warnings: z.array(manifestIssueSchema),
});
export type ManifestReport = z.infer<typeof manifestReportSchema>;

export const manifest = fact({
  area: 'config',
  name: 'manifest',
  key: 'name',
  owner: 'config-sources',
  payload: manifestReportSchema,
  about: 'What one manifest file gave when it was read last: its pods, and what is wrong with it.',
});

export const configEvent = event({
  area: 'config',
  name: 'recorded',
  key: 'pod',
  publisher: 'config-sources',
  payload: podEventSchema,
  about: 'Something about a pod of a source that its user should hear of, such as a name that is taken.',
});
