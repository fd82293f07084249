import * as z from 'zod';
import { fact } from '../declare.ts';

/** A ConfigMap or Secret that a pod refers to. */
export const objectReferenceSchema = z.object({
  kind: z.enum(['ConfigMap', 'Secret']),
  namespace: z.string(),
  name: z.string(),
});
export type ObjectReference = z.infer<typeof objectReferenceSchema>;

/** One version of such an object. Its data is read from object-cache's socket (docs/object-socket.md), never from the bus. */
export const objectVersionSchema = objectReferenceSchema.extend({
  /** The API's `resourceVersion`: compared for equality only. */
  version: z.string(),
});
export type ObjectVersion = z.infer<typeof objectVersionSchema>;

/** The key of an object's fact. */
export function objectKey({ kind, namespace, name }: ObjectReference): string {
  return `${kind}/${namespace}/${name}`;
}

/** What is known, apart from its values, about an object to which pods of this node refer by variables, pull Secrets or volumes. */
export const cachedObjectSchema = z.discriminatedUnion('state', [
  objectVersionSchema.extend({
    state: z.literal('present'),
    uid: z.string(),
    /** The keys of its `data`: only these can be in an environment. */
    keys: z.array(z.string()),
    /** The keys of the `binaryData` of a ConfigMap, which only volumes can contain. Missing when there are none. */
    binaryKeys: z.array(z.string()).min(1).optional(),
  }),
  /** The API server has no such object. */
  objectReferenceSchema.extend({ state: z.literal('missing') }),
  /** The API server refused or failed to return it; the message is in its own words. */
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
    'A ConfigMap or Secret that a pod of this node refers to, without its values. Removed some time after the last pod that refers to it.',
});

/** A Service, as far as it is visible to containers in variables. */
export const serviceAddressSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  /** Missing or `None`: the service has no address and provides no variables. */
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
    'The Services with an address in the namespace `default`, or in one from which a pod of this node needs variables; keyed by the namespace. Exists once they have been read, even if there is no Service.',
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

/** A ClusterTrustBundle: certificates that its users accept as trust anchors. */
export const trustBundleSchema = z.object({
  name: z.string(),
  /** The signer whose certificates they verify. Missing: no particular signer. */
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
    'A ClusterTrustBundle of the cluster, keyed by its name. Read once a pod uses a ClusterTrustBundle in a volume; complete once all have been read.',
});
