import { hasTrustBundles, mountedObjects, referencedObjects, serviceNamespaces } from '@kubus/container-config';
import { type ClaimName, type ObjectReference, type PodWork, claimKey, objectKey } from '@kubus/contracts';
import { claimsOf } from '../claim-name.ts';
import { neededVolumes } from '../needed.ts';

/** A pod that may have tokens of its service account. */
export interface TokenHolder {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly serviceAccount: string;
}

/** What a pod needs from the API server. */
export interface PodDemand {
  /** By their keys: the objects of its variables, its pull Secrets, and those of its volumes. */
  readonly objects: ReadonlyMap<string, ObjectReference>;
  /** By their keys: the claims that its containers mount. */
  readonly claims: ReadonlyMap<string, ClaimName>;
  /** A CSI driver may have to create one of its volumes. */
  readonly csi: boolean;
  /** The namespaces of the Services for which it has variables. */
  readonly serviceNamespaces: readonly string[];
  /** Undefined for a pod without a service account. */
  readonly holder: TokenHolder | undefined;
  /** Whether trust bundles of the cluster are in its volumes. */
  readonly trustBundles: boolean;
}

const nothing: PodDemand = {
  objects: new Map(),
  claims: new Map(),
  csi: false,
  serviceNamespaces: [],
  holder: undefined,
  trustBundles: false,
};

/**
 * What a pod needs as long as it has local state. A pod that the node does not admit needs nothing, and only pods from
 * the API server may refer to its objects.
 */
export function demandOf({ pod, work, source }: Pick<PodWork, 'pod' | 'work' | 'source'>): PodDemand {
  if (pod === undefined || work === 'reject') return nothing;
  const namespaces = serviceNamespaces(pod);
  if (source !== 'api') return { ...nothing, serviceNamespaces: namespaces };
  const { namespace, name, uid } = pod.metadata;
  const { serviceAccountName: serviceAccount = '' } = pod.spec;
  const claims = claimsOf(pod);
  return {
    objects: new Map([...referencedObjects(pod), ...mountedObjects(pod)].map((one) => [objectKey(one), one])),
    claims: new Map(claims.map((one) => [claimKey(one), one])),
    csi: claims.length > 0 || neededVolumes(pod).some(({ csi }) => csi !== undefined),
    serviceNamespaces: namespaces,
    holder: serviceAccount === '' ? undefined : { namespace, name, uid, serviceAccount },
    trustBundles: hasTrustBundles(pod),
  };
}
