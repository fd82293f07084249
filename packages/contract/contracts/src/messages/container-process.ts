import * as z from 'zod';
import { objectReferenceSchema, objectVersionSchema } from './object.ts';

/** Where one or more variables get their values from. */
export const environmentStepSchema = z.discriminatedUnion('from', [
  /** A text with references to earlier variables. */
  z.object({ from: z.literal('text'), name: z.string(), text: z.string() }),
  /** A value as it is. */
  z.object({ from: z.literal('value'), name: z.string(), value: z.string() }),
  /** Every key of an object. */
  z.object({ from: z.literal('object'), object: objectReferenceSchema, prefix: z.string(), optional: z.boolean() }),
  /** One key of an object. */
  z.object({
    from: z.literal('key'),
    name: z.string(),
    object: objectReferenceSchema,
    key: z.string(),
    optional: z.boolean(),
  }),
  /** One key of an env file. */
  z.object({
    from: z.literal('file'),
    name: z.string(),
    /** Absolute path of the volume's folder, and the file's path in it. */
    volume: z.string(),
    path: z.string(),
    key: z.string(),
    optional: z.boolean(),
  }),
]);
export type EnvironmentStep = z.infer<typeof environmentStepSchema>;

const variablesSchema = z.array(z.tuple([z.string(), z.string()]));

/** A container's environment without any value from an object or a file, so that it may be sent over the bus and recorded. */
export const environmentPlanSchema = z.object({
  /** Name and value of the variables that device plugins set. */
  device: variablesSchema,
  /** In order: a later variable replaces an earlier one. */
  steps: z.array(environmentStepSchema),
  /** Name and value of services’ variables. Other variables can refer to them, and all others override them. */
  services: variablesSchema,
});
export type EnvironmentPlan = z.infer<typeof environmentPlanSchema>;

/** What a container runs, as far as it is known without the values in Secrets, ConfigMaps and env files. */
export const containerProcessSchema = z.object({
  environment: environmentPlanSchema,
  /** May contain references to the environment, as may the args. */
  command: z.array(z.string()),
  args: z.array(z.string()),
  /** Positions of the container’s mounts whose `imageSubPath` contains such references. */
  imageSubPaths: z.array(z.int().nonnegative()).min(1).optional(),
});
export type ContainerProcess = z.infer<typeof containerProcessSchema>;

/** A container's process and the objects that complete it. Objects that are not listed do not exist. */
export const processToCompleteSchema = containerProcessSchema.extend({ objects: z.array(objectVersionSchema) });
export type ProcessToComplete = z.infer<typeof processToCompleteSchema>;
