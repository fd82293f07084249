import { mountedObjects, referencedObjects, serviceNamespaces } from '@kubus/container-config';
import { type ObjectReference, type PodWork, objectKey } from '@kubus/contracts';

/** A pod that may have tokens of its service account. */
export interface TokenHolder {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly serviceAccount: string;
}

/** What a pod needs of the API server. */
export interface PodDemand {
  /** By their keys: those of its variables, its pull Secrets and those of its volumes. */
  readonly objects: ReadonlyMap<string, ObjectReference>;
  /** The namespaces of the Services that its variables are made of. */
  readonly serviceNamespaces: readonly string[];
  /** Undefined for a pod without a service account. */
  readonly holder: TokenHolder | undefined;
}

const nothing: PodDemand = { objects: new Map(), serviceNamespaces: [], holder: undefined };

/**
 * What is needed for a pod as long as the node has to do with it; it ends with what is in its volumes and variables. One
 * that the node does not take needs nothing, and only pods of the API server may refer to its objects.
 */
export function demandOf({ pod, work, source }: Pick<PodWork, 'pod' | 'work' | 'source'>): PodDemand {
  if (pod === undefined || work === 'reject') return nothing;
  const namespaces = serviceNamespaces(pod);
  if (source !== 'api') return { ...nothing, serviceNamespaces: namespaces };
  const { namespace, name, uid } = pod.metadata;
  const { serviceAccountName: serviceAccount = '' } = pod.spec;
  return {
    objects: new Map([...referencedObjects(pod), ...mountedObjects(pod)].map((one) => [objectKey(one), one])),
    serviceNamespaces: namespaces,
    holder: serviceAccount === '' ? undefined : { namespace, name, uid, serviceAccount },
  };
}
