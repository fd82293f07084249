import { Buffer } from 'node:buffer';
import * as z from 'zod';

const metadataSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
});

/** A ConfigMap or Secret as the API server gives it, with the fields that the node uses. */
export const apiObjectSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ConfigMap'),
    metadata: metadataSchema,
    data: z.record(z.string(), z.string()).optional(),
    binaryData: z.record(z.string(), z.base64()).optional(),
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

/** One state of an object, with its values. Must never be logged, sent or stored. */
export interface ObjectData {
  readonly uid: string;
  readonly version: string;
  /** The type of a Secret, such as `kubernetes.io/dockerconfigjson`; undefined of a ConfigMap. */
  readonly type: string | undefined;
  /** The object's `data`, by key. */
  readonly values: ReadonlyMap<string, Buffer>;
  /** The `binaryData` of a ConfigMap, by key: for files alone, never for variables. */
  readonly binaryValues: ReadonlyMap<string, Buffer>;
}

/** The values as bytes, whatever the kind. */
export function objectData(object: ApiObject): ObjectData {
  const { uid, resourceVersion: version } = object.metadata;
  if (object.kind === 'Secret') {
    const { type = 'Opaque', data } = object;
    return { uid, version, type, values: decode(data, 'base64'), binaryValues: new Map() };
  }
  const { data, binaryData } = object;
  return {
    uid,
    version,
    type: undefined,
    values: decode(data, 'utf8'),
    binaryValues: decode(binaryData, 'base64'),
  };
}

function decode(texts: Readonly<Record<string, string>> = {}, encoding: 'base64' | 'utf8'): Map<string, Buffer> {
  return new Map(Object.entries(texts).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}
