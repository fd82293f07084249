import * as z from 'zod';
import { fact } from '../declare.ts';

/** A ConfigMap or Secret that a pod refers to. */
export const objectReferenceSchema = z.object({
  kind: z.enum(['ConfigMap', 'Secret']),
  namespace: z.string(),
  name: z.string(),
});
export type ObjectReference = z.infer<typeof objectReferenceSchema>;

/** One state of such an object. Its data is read from object-cache's socket (docs/object-socket.md), never from the bus. */
export const objectVersionSchema = objectReferenceSchema.extend({
  /** The API's `resourceVersion`: compared for equality only. */
  version: z.string(),
});
export type ObjectVersion = z.infer<typeof objectVersionSchema>;

/** The key of an object's fact. */
export function objectKey({ kind, namespace, name }: ObjectReference): string {
  return `${kind}/${namespace}/${name}`;
}

/** What is known of an object that pods of this node refer to, by variables, pull Secrets or volumes: all but its values. */
export const cachedObjectSchema = z.discriminatedUnion('state', [
  objectVersionSchema.extend({
    state: z.literal('present'),
    uid: z.string(),
    /** The keys of its `data`: those that an environment can have. */
    keys: z.array(z.string()),
    /** The keys of the `binaryData` of a ConfigMap: those that only volumes can have. Missing when there are none. */
    binaryKeys: z.array(z.string()).min(1).optional(),
  }),
  /** The API server has no such object. */
  objectReferenceSchema.extend({ state: z.literal('missing') }),
  /** The API server does not give it out, or can not; in its own words. */
  objectReferenceSchema.extend({ state: z.literal('refused'), message: z.string() }),
]);
export type CachedObject = z.infer<typeof cachedObjectSchema>;

export const cachedObject = fact({
  area: 'object',
  name: 'cached',
  key: 'name',
  owner: 'object-cache',
  payload: cachedObjectSchema,
  about:
    'A ConfigMap or Secret that a pod of this node refers to, without its values. Gone some time after the last pod that does.',
});

/** A Service, as far as containers learn of it by variables. */
export const serviceAddressSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  /** Missing or `None`: the service has no address and gives no variables. */
  clusterIP: z.string().optional(),
  ports: z.array(
    z.object({
      name: z.string().optional(),
      port: z.int(),
      /** Default: `TCP`. */
      protocol: z.string().optional(),
    }),
  ),
});
export type ServiceAddress = z.infer<typeof serviceAddressSchema>;

/** The Services of one namespace that have an address, by name. */
export const namespaceServicesSchema = z.object({ services: z.array(serviceAddressSchema) });
export type NamespaceServices = z.infer<typeof namespaceServicesSchema>;

export const namespaceServices = fact({
  area: 'object',
  name: 'services',
  key: 'name',
  owner: 'object-cache',
  payload: namespaceServicesSchema,
  about:
    'The Services with an address of the namespace `default`, or of one from which a pod of this node wants variables; keyed by the namespace. There once they have been read, with or without any Service.',
});

export const runtimeClassSchema = z.object({
  name: z.string(),
  /** The runtime’s handler, as its configuration names it. */
  handler: z.string(),
});
export type RuntimeClass = z.infer<typeof runtimeClassSchema>;

export const runtimeClass = fact({
  area: 'object',
  name: 'runtimeClass',
  key: 'name',
  owner: 'object-cache',
  payload: runtimeClassSchema,
  about: 'A RuntimeClass of the cluster, keyed by its name. Complete once all have been read.',
});

/** A ClusterTrustBundle: certificates that whoever projects it takes for anchors of trust. */
export const trustBundleSchema = z.object({
  name: z.string(),
  /** Whose certificates they vouch for. Missing: nobody's in particular. */
  signerName: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  /** Certificates, in PEM. */
  trustBundle: z.string(),
});
export type TrustBundle = z.infer<typeof trustBundleSchema>;

export const trustBundle = fact({
  area: 'object',
  name: 'trustBundle',
  key: 'name',
  owner: 'object-cache',
  payload: trustBundleSchema,
  about:
    'A ClusterTrustBundle of the cluster, keyed by its name. Read from the first pod on that has any in a volume; complete once all have been read.',
});
