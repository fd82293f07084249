import type { ObjectReference } from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import * as z from 'zod';

const values = z.record(z.string(), z.string()).optional();

/** The parts of an object that are kept. Annotations are not: tools store whole copies of the object there. */
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

/** One version of a ConfigMap or Secret. Must not be logged, published or stored. */
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

/** @throws KubusError without any content of the object, which the parser's own error would contain */
export function readObject(kind: ObjectReference['kind'], object: unknown): KeptObject {
  const parsed = objectSchema.safeParse(object);
  if (!parsed.success) throw new KubusError('bad-object', `the API server’s answer is not a ${kind}`);
  const { metadata, data = {}, binaryData = {}, immutable = false } = parsed.data;
  return {
    uid: metadata.uid,
    version: metadata.resourceVersion,
    immutable,
    keys: Object.keys(data),
    binaryKeys: Object.keys(binaryData),
    // The items of a list have no kind.
    text: JSON.stringify({ apiVersion: 'v1', kind, ...parsed.data }),
  };
}
