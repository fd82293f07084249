import * as z from 'zod';
import { apiObject, flag, int, stringMap, text, texts, time } from './fields.ts';

export const ownerReferenceSchema = apiObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: flag,
  blockOwnerDeletion: flag,
});
export type OwnerReference = z.infer<typeof ownerReferenceSchema>;

const managedFieldsSchema = apiObject({
  manager: text,
  operation: text,
  apiVersion: text,
  time,
  fieldsType: text,
  fieldsV1: z.unknown().optional(),
  subresource: text,
});

const metaShape = {
  generateName: text,
  selfLink: text,
  resourceVersion: text,
  generation: int,
  creationTimestamp: time,
  /** Set when the object is being deleted: the time at which its grace period ends. */
  deletionTimestamp: time,
  /** Seconds. */
  deletionGracePeriodSeconds: int,
  labels: stringMap,
  annotations: stringMap,
  ownerReferences: z.array(ownerReferenceSchema).optional(),
  finalizers: texts,
  managedFields: z.array(managedFieldsSchema).optional(),
};

/** Metadata of an object that is embedded in another one, such as a claim template. */
export const templateMetaSchema = apiObject({ name: text, namespace: text, uid: text, ...metaShape });
export type TemplateMeta = z.infer<typeof templateMetaSchema>;

/** Metadata of a pod on a node: name, namespace and UID are required. */
export const podMetaSchema = apiObject({ name: z.string(), namespace: z.string(), uid: z.string(), ...metaShape });
export type PodMeta = z.infer<typeof podMetaSchema>;

const labelSelectorRequirementSchema = apiObject({ key: z.string(), operator: z.string(), values: texts });

export const labelSelectorSchema = apiObject({
  matchLabels: stringMap,
  matchExpressions: z.array(labelSelectorRequirementSchema).optional(),
});
export type LabelSelector = z.infer<typeof labelSelectorSchema>;

/** A reference by name to an object of the pod's own namespace. */
export const localObjectReferenceSchema = apiObject({ name: text });
export type LocalObjectReference = z.infer<typeof localObjectReferenceSchema>;
