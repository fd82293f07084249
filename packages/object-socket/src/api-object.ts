import { Buffer } from 'node:buffer';
import * as z from 'zod';

const metadataSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
});

/** A ConfigMap or Secret as the API server gives it, as far as the node uses it. */
export const apiObjectSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ConfigMap'),
    metadata: metadataSchema,
    data: z.record(z.string(), z.string()).optional(),
  }),
  z.object({
    kind: z.literal('Secret'),
    metadata: metadataSchema,
    /** Such as `Opaque` or `kubernetes.io/dockerconfigjson`. */
    type: z.string().optional(),
    data: z.record(z.string(), z.base64()).optional(),
  }),
]);
export type ApiObject = z.infer<typeof apiObjectSchema>;

/** One state of an object, with its values. Never to be logged, sent or stored. */
export interface ObjectData {
  readonly uid: string;
  readonly version: string;
  /** The type of a Secret, such as `kubernetes.io/dockerconfigjson`; undefined of a ConfigMap. */
  readonly type: string | undefined;
  /** The object's `data`, by key. */
  readonly values: ReadonlyMap<string, Buffer>;
}

/** The values as bytes, whatever the kind. */
export function objectData(object: ApiObject): ObjectData {
  const { uid, resourceVersion } = object.metadata;
  const encoding = object.kind === 'Secret' ? 'base64' : 'utf8';
  return {
    uid,
    version: resourceVersion,
    type: object.kind === 'Secret' ? (object.type ?? 'Opaque') : undefined,
    values: new Map(Object.entries(object.data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)])),
  };
}
