import type { ObjectReference } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import * as z from 'zod';

const values = z.record(z.string(), z.string()).optional();

/** What is kept of an object: what somebody may need. Annotations are not: tools leave whole copies of the object there. */
const objectSchema = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
  }),
  type: z.string().optional(),
  immutable: z.boolean().optional(),
  data: values,
  binaryData: values,
});

/** One state of a ConfigMap or Secret. Never to be logged, sent over the bus or stored. */
export interface KeptObject {
  readonly uid: string;
  readonly version: string;
  readonly immutable: boolean;
  /** The keys of its `data`. */
  readonly keys: readonly string[];
  /** The keys of its `binaryData`. */
  readonly binaryKeys: readonly string[];
  /** The object as JSON. */
  readonly text: string;
}

/** @throws KubusError that holds nothing of the object, which the parser's own would. */
export function readObject(kind: ObjectReference['kind'], object: unknown): KeptObject {
  const parsed = objectSchema.safeParse(object);
  if (!parsed.success) throw new KubusError('bad-object', `the API server’s answer is no ${kind}`);
  const { metadata, data = {}, binaryData = {}, immutable = false } = parsed.data;
  return {
    uid: metadata.uid,
    version: metadata.resourceVersion,
    immutable,
    keys: Object.keys(data),
    binaryKeys: Object.keys(binaryData),
    // The items of a list do not say what they are.
    text: JSON.stringify({ apiVersion: 'v1', kind, ...parsed.data }),
  };
}
