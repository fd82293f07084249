import { readManifest } from '@kubus/pod-source';
import { KubusError } from '@kubus/ports';
import { LineCounter, parseDocument } from 'yaml';
import * as z from 'zod';
import { durationSchema } from './duration.ts';
import { type ExperimentFault, experimentFaultSchema } from './experiment-fault.ts';
import { headerFields, nameSchema } from './header.ts';
import { type MachineExperiment, machineExperimentSchema } from './machine-experiment.ts';
import { nodeMeasures } from './measures.ts';
import { quantitySchema } from './quantity.ts';

/** Thrown when the file is not a valid experiment; the message names the file, and each invalid field with the reason. */
export class ExperimentError extends KubusError {}

/** One of the two conditions that are compared. */
interface Arm {
  readonly name: string;
  readonly faults: readonly ExperimentFault[];
  /** Fields of a KubeletConfiguration, which the node is started with. */
  readonly config: Readonly<Record<string, unknown>>;
}

const podGroupSchema = z.strictObject({
  /** How many of it. */
  count: z.int().min(1).max(500).default(1),
  /** A Pod; the names of the pods start with its name. */
  template: z.looseObject({
    apiVersion: z.literal('v1').default('v1'),
    kind: z.literal('Pod').default('Pod'),
    metadata: z.looseObject({ name: z.string().min(1).max(40), namespace: z.string().optional() }),
  }),
});

const workloadSchema = z.strictObject({
  pods: z.array(podGroupSchema).min(1),
  /** Where they are created: files of the node's folder make static pods, which are never evicted. */
  from: z.enum(['files', 'api']).default('files'),
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

const armSchema = z.strictObject({
  name: nameSchema,
  faults: z.array(experimentFaultSchema).default([]),
  config: z.record(z.string(), z.unknown()).default({}),
});

/** How an arm is called that is not named: `faults` alone compares with and without them. */
const baseline: Arm = { name: 'baseline', faults: [], config: {} };

const nodeExperimentSchema = z
  .strictObject({
    ...headerFields,
    workload: workloadSchema,
    /** Bytes that all pods together may use, so that memory can be short without endangering the machine. */
    podMemory: quantitySchema.optional(),
    faults: z.array(experimentFaultSchema).min(1).optional(),
    arms: z.tuple([armSchema, armSchema]).optional(),
    measure: z.array(z.enum(nodeMeasures)).min(1).default(['start', 'restart', 'stop', 'cpu']),
  })
  .transform(({ faults, arms, ...rest }, context) => {
    if ((faults === undefined) === (arms === undefined)) {
      context.addIssue({ code: 'custom', path: ['faults'], message: 'an experiment has either faults or arms' });
      return z.NEVER;
    }
    const [first, second]: readonly [Arm, Arm] = arms ?? [
      baseline,
      { ...baseline, name: 'faults', faults: faults ?? [] },
    ];
    if (first.name === second.name) {
      context.addIssue({ code: 'custom', path: ['arms'], message: `both are called ${first.name}` });
      return z.NEVER;
    }
    return { ...rest, arms: [first, second] as const };
  });
/** A workload that is run on a node. */
export type NodeExperiment = z.infer<typeof nodeExperimentSchema>;
export type Experiment = NodeExperiment | MachineExperiment;

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
  const schema = document.has('machine') ? machineExperimentSchema : nodeExperimentSchema;
  const parsed = schema.safeParse(document.toJS());
  const wrong = parsed.success
    ? podErrors(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${fieldName(path)}: ${message}`);
  if (wrong.length > 0 || !parsed.success) {
    throw new ExperimentError('bad-experiment', wrong.map((one) => `${file}: ${one}`).join('\n'));
  }
  return parsed.data;
}

/** What a node would refuse is reported before anything runs. */
function podErrors(experiment: Experiment): string[] {
  if ('machine' in experiment) return [];
  return experiment.workload.pods.flatMap(({ template }, index) => {
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
