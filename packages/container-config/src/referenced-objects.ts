import { type Container, type ObjectReference, type Pod, type Volume, objectKey } from '@kubus/contracts';
import { containersOf } from '@kubus/pod-lifecycle';

/** What the pod's containers have their environments from, and its pull Secrets; each object once. */
export function referencedObjects(pod: Pick<Pod, 'metadata' | 'spec'>): readonly ObjectReference[] {
  const { namespace } = pod.metadata;
  const environments = containersOf(pod).flatMap(({ container }) => environmentSources(namespace, container));
  return eachOnce([...environments, ...pullSecrets(pod)]);
}

/** The objects that the pod's volumes are made of; each object once. */
export function mountedObjects({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): readonly ObjectReference[] {
  return eachOnce((spec.volumes ?? []).flatMap((volume) => volumeSources(metadata.namespace, volume)));
}

/** Whether some ClusterTrustBundle is in a volume of the pod. */
export function hasTrustBundles({ spec }: Pick<Pod, 'spec'>): boolean {
  const sources = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined);
}

function volumeSources(namespace: string, { configMap, secret, projected, csi }: Volume): ObjectReference[] {
  const own = referredObject(namespace, configMap, secret ? { name: secret.secretName } : csi?.nodePublishSecretRef);
  const parts = (projected?.sources ?? []).map((part) => referredObject(namespace, part.configMap, part.secret));
  return [own, ...parts].filter((one) => one !== undefined);
}

function eachOnce(objects: readonly ObjectReference[]): readonly ObjectReference[] {
  return [...new Map(objects.map((one) => [objectKey(one), one])).values()];
}

/** The Secrets with a pod's credentials for registries, in its order (kubelet behaviour 1.8, Credentials). */
export function pullSecrets({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): readonly ObjectReference[] {
  const { namespace } = metadata;
  const names = (spec.imagePullSecrets ?? []).map(({ name = '' }) => name).filter((name) => name !== '');
  return names.map((name) => ({ kind: 'Secret', namespace, name }));
}

/** The object of the pod's namespace that one of two fields names, if one does. */
export function referredObject(
  namespace: string,
  configMap: { readonly name?: string | undefined } | undefined,
  secret: { readonly name?: string | undefined } | undefined,
): ObjectReference | undefined {
  if (configMap !== undefined) return { kind: 'ConfigMap', namespace, name: configMap.name ?? '' };
  if (secret !== undefined) return { kind: 'Secret', namespace, name: secret.name ?? '' };
  return undefined;
}

function environmentSources(namespace: string, { env = [], envFrom = [] }: Container): ObjectReference[] {
  const all = [
    ...envFrom.map(({ configMapRef, secretRef }) => referredObject(namespace, configMapRef, secretRef)),
    ...env.map(({ valueFrom }) => referredObject(namespace, valueFrom?.configMapKeyRef, valueFrom?.secretKeyRef)),
  ];
  return all.filter((one) => one !== undefined);
}
