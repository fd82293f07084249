import * as z from 'zod';
import { durationSchema } from './duration.ts';
import { headerFields, nameSchema } from './header.ts';
import { machineMeasures } from './measures.ts';
import { quantitySchema } from './quantity.ts';

const positiveSchema = durationSchema.refine((ms) => ms > 0, 'must be longer than 0');

const arrivalsSchema = z.strictObject({
  /** How many arrive in a run. */
  count: z.int().min(1).max(10_000),
  /** The mean time from one arrival to the next, in milliseconds when read; the times are exponentially distributed. */
  every: positiveSchema,
  /** The mean time that a pod stays, in milliseconds when read; exponentially distributed. */
  stay: positiveSchema,
  /** What a pod requests: one of these, each equally often. */
  cpus: z.array(z.int().min(1).max(65_536)).min(1).max(64),
  /** Bytes that each requests; omitted: memory is not managed. */
  memory: quantitySchema.optional(),
});
/** Pods that come and go: each has one container with CPUs of its own. */
export type Arrivals = z.infer<typeof arrivalsSchema>;

/** Fields of a KubeletConfiguration. */
const policySchema = z.strictObject({
  cpuManagerPolicyOptions: z.record(z.string(), z.enum(['true', 'false'])).default({}),
  topologyManagerPolicy: z.enum(['none', 'best-effort', 'restricted', 'single-numa-node']).default('none'),
  topologyManagerScope: z.enum(['container', 'pod']).default('container'),
  reservedSystemCPUs: z.string().default(''),
});
/** The policies of an arm. */
export type MachinePolicy = z.infer<typeof policySchema>;

const machineArmSchema = z.strictObject({ name: nameSchema, config: policySchema.prefault({}) });

export const machineExperimentSchema = z
  .strictObject({
    ...headerFields,
    /** The file with the description of the machine; a path from the folder of the experiment. */
    machine: z.string().min(1),
    arrivals: arrivalsSchema,
    arms: z.tuple([machineArmSchema, machineArmSchema]),
    measure: z.array(z.enum(machineMeasures)).min(1).default(['fragmentation', 'used', 'refused', 'split']),
  })
  .refine(({ arms: [first, second] }) => first.name !== second.name, {
    path: ['arms'],
    error: 'both have the same name',
  });
/** Pods that come and go on a machine that is only described. */
export type MachineExperiment = z.infer<typeof machineExperimentSchema>;
