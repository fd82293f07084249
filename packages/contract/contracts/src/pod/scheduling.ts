import * as z from 'zod';
import { apiObject, int, text, texts } from './fields.ts';
import { labelSelectorSchema } from './metadata.ts';

const nodeSelectorRequirementSchema = apiObject({ key: z.string(), operator: z.string(), values: texts });
export type NodeSelectorRequirement = z.infer<typeof nodeSelectorRequirementSchema>;

export const nodeSelectorTermSchema = apiObject({
  matchExpressions: z.array(nodeSelectorRequirementSchema).optional(),
  matchFields: z.array(nodeSelectorRequirementSchema).optional(),
});
export type NodeSelectorTerm = z.infer<typeof nodeSelectorTermSchema>;

/** The terms are alternatives; within a term every requirement must hold. */
export const nodeSelectorSchema = apiObject({ nodeSelectorTerms: z.array(nodeSelectorTermSchema) });
export type NodeSelector = z.infer<typeof nodeSelectorSchema>;

export const podAffinityTermSchema = apiObject({
  labelSelector: labelSelectorSchema.optional(),
  namespaces: texts,
  topologyKey: z.string(),
  namespaceSelector: labelSelectorSchema.optional(),
  matchLabelKeys: texts,
  mismatchLabelKeys: texts,
});
export type PodAffinityTerm = z.infer<typeof podAffinityTermSchema>;

const podAffinitySchema = apiObject({
  requiredDuringSchedulingIgnoredDuringExecution: z.array(podAffinityTermSchema).optional(),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(apiObject({ weight: z.int(), podAffinityTerm: podAffinityTermSchema }))
    .optional(),
});
export type PodAffinity = z.infer<typeof podAffinitySchema>;

export const affinitySchema = apiObject({
  nodeAffinity: apiObject({
    requiredDuringSchedulingIgnoredDuringExecution: nodeSelectorSchema.optional(),
    preferredDuringSchedulingIgnoredDuringExecution: z
      .array(apiObject({ weight: z.int(), preference: nodeSelectorTermSchema }))
      .optional(),
  }).optional(),
  podAffinity: podAffinitySchema.optional(),
  podAntiAffinity: podAffinitySchema.optional(),
});
export type Affinity = z.infer<typeof affinitySchema>;

export const tolerationSchema = apiObject({
  key: text,
  /** `Exists` or `Equal`. Default: `Equal`. */
  operator: text,
  value: text,
  /** Empty: every effect. */
  effect: text,
  /** How long a NoExecute taint is tolerated, in seconds. Default: forever. */
  tolerationSeconds: int,
});
export type Toleration = z.infer<typeof tolerationSchema>;

export const topologySpreadConstraintSchema = apiObject({
  maxSkew: z.int(),
  topologyKey: z.string(),
  whenUnsatisfiable: z.string(),
  labelSelector: labelSelectorSchema.optional(),
  minDomains: int,
  nodeAffinityPolicy: text,
  nodeTaintsPolicy: text,
  matchLabelKeys: texts,
});
export type TopologySpreadConstraint = z.infer<typeof topologySpreadConstraintSchema>;
