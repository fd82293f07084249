import * as z from 'zod';
import { apiObject, flag, quantity, text } from './fields.ts';

/** A field of the pod itself, such as `metadata.name`. */
export const objectFieldSelectorSchema = apiObject({ apiVersion: text, fieldPath: z.string() });
export type ObjectFieldSelector = z.infer<typeof objectFieldSelectorSchema>;

/** A request or limit of a container, divided by `divisor` and rounded up. */
export const resourceFieldSelectorSchema = apiObject({
  /** Only needed in volumes: an environment variable refers to its own container. */
  containerName: text,
  /** Such as `requests.cpu`. */
  resource: z.string(),
  divisor: quantity.optional(),
});
export type ResourceFieldSelector = z.infer<typeof resourceFieldSelectorSchema>;

/** A key of a ConfigMap or of a Secret in the pod's namespace. */
export const keySelectorSchema = apiObject({ name: text, key: z.string(), optional: flag });
export type KeySelector = z.infer<typeof keySelectorSchema>;

/** A key of an env file in a volume (KEP-3721). */
export const fileKeySelectorSchema = apiObject({
  volumeName: z.string(),
  path: z.string(),
  key: z.string(),
  optional: flag,
});
export type FileKeySelector = z.infer<typeof fileKeySelectorSchema>;

/** Exactly one of its fields is set. */
export const envVarSourceSchema = apiObject({
  fieldRef: objectFieldSelectorSchema.optional(),
  resourceFieldRef: resourceFieldSelectorSchema.optional(),
  configMapKeyRef: keySelectorSchema.optional(),
  secretKeyRef: keySelectorSchema.optional(),
  fileKeyRef: fileKeySelectorSchema.optional(),
});
export type EnvVarSource = z.infer<typeof envVarSourceSchema>;

export const envVarSchema = apiObject({
  name: z.string(),
  /** May contain `$(NAME)` references to earlier variables. */
  value: text,
  valueFrom: envVarSourceSchema.optional(),
});
export type EnvVar = z.infer<typeof envVarSchema>;

const envFromReferenceSchema = apiObject({ name: text, optional: flag });

/** Every key of a ConfigMap or Secret as a variable. */
export const envFromSourceSchema = apiObject({
  prefix: text,
  configMapRef: envFromReferenceSchema.optional(),
  secretRef: envFromReferenceSchema.optional(),
});
export type EnvFromSource = z.infer<typeof envFromSourceSchema>;
