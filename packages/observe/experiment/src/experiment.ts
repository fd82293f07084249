import { readManifest } from '@kubus/pod-source';
import { KubusError } from '@kubus/ports';
import { LineCounter, parseDocument } from 'yaml';
import * as z from 'zod';
import { durationSchema } from './duration.ts';
import { experimentFaultSchema } from './experiment-fault.ts';

/** Thrown when the file is not a valid experiment; the message names the file, and each invalid field with the reason. */
export class ExperimentError extends KubusError {}

/** What can be measured, in milliseconds. */
const measures = ['start', 'restart', 'stop', 'cpu'] as const;
export type Measure = (typeof measures)[number];

const podGroupSchema = z.strictObject({
  /** How many of it. */
  count: z.int().min(1).max(500).default(1),
  /** A Pod; the names of the pods start with its name. */
  template: z.looseObject({
    apiVersion: z.literal('v1').default('v1'),
    kind: z.literal('Pod').default('Pod'),
    metadata: z.looseObject({ name: z.string().min(1).max(40) }),
  }),
});

const workloadSchema = z.strictObject({
  pods: z.array(podGroupSchema).min(1),
  /** All at once, or each when the previous one has reached the expected state. */
  how: z.enum(['atOnce', 'oneByOne']).default('atOnce'),
  /** The expected state: every container ready; every container restarted once; ended. */
  until: z.enum(['ready', 'restarted', 'ended']).default('ready'),
  /** How long a pod may take to reach it. One that takes longer is counted, and the experiment continues. */
  within: durationSchema.prefault('60s'),
  /** How long the pods stay after that. */
  stay: durationSchema.prefault('0s'),
});
export type Workload = z.infer<typeof workloadSchema>;

const experimentSchema = z.strictObject({
  /** Such as `delayed-runtime-events`. */
  name: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'must consist of lower-case letters, digits and "-"' }),
  /** What it should show, in one sentence. */
  about: z.string().optional(),
  /** How often each arm runs. */
  repetitions: z.int().min(1).max(1000).default(5),
  /** Decides the order of the arms and the resampling for the confidence intervals. */
  seed: z.int().nonnegative().default(1),
  workload: workloadSchema,
  faults: z.array(experimentFaultSchema).min(1),
  measure: z
    .array(z.enum(measures))
    .min(1)
    .default([...measures]),
});
export type Experiment = z.infer<typeof experimentSchema>;

/**
 * Reads an experiment.
 *
 * @throws ExperimentError with every field that is wrong, and the file.
 */
export function parseExperiment(text: string, file: string): Experiment {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line } = lines.linePos(broken.pos[0]);
    throw new ExperimentError('bad-experiment', `${file}: line ${line}: ${broken.message.split('\n')[0] ?? ''}`);
  }
  const parsed = experimentSchema.safeParse(document.toJS());
  const wrong = parsed.success
    ? podErrors(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${fieldName(path)}: ${message}`);
  if (wrong.length > 0 || !parsed.success) {
    throw new ExperimentError('bad-experiment', wrong.map((one) => `${file}: ${one}`).join('\n'));
  }
  return parsed.data;
}

/** What a node would refuse is reported before anything runs. */
function podErrors({ workload }: Experiment): string[] {
  return workload.pods.flatMap(({ template }, index) => {
    const origin = { source: 'file', path: '/experiment', node: 'node', seenAt: new Date(0).toISOString() } as const;
    const { errors } = readManifest({ ...origin, text: JSON.stringify(template) });
    return errors.map(({ field, message }) => {
      const at = field === undefined ? '' : `.${field}`;
      return `workload.pods[${index}].template${at}: ${message}`;
    });
  });
}

/** `workload.pods[0].count`. */
function fieldName(path: readonly PropertyKey[]): string {
  const name = path.reduce<string>((before, part) => {
    if (typeof part === 'number') return `${before}[${part}]`;
    return before === '' ? String(part) : `${before}.${String(part)}`;
  }, '');
  return name === '' ? 'the document' : name;
}
