import * as z from 'zod';
import { apiObject, resourceList, text } from './fields.ts';

/** Compute resources of a container, or of the pod as a whole (which has no claims). */
export const resourceRequirementsSchema = apiObject({
  limits: resourceList,
  requests: resourceList,
  /** Names of entries of `spec.resourceClaims` that the container uses. */
  claims: z.array(apiObject({ name: z.string(), request: text })).optional(),
});
export type ResourceRequirements = z.infer<typeof resourceRequirementsSchema>;

export const containerResizePolicySchema = apiObject({
  /** `cpu` or `memory`. */
  resourceName: z.string(),
  /** `NotRequired` or `RestartContainer`. */
  restartPolicy: z.string(),
});
export type ContainerResizePolicy = z.infer<typeof containerResizePolicySchema>;
