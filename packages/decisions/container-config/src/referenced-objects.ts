import { type Container, type ObjectReference, type Pod, type Volume, objectKey } from '@kubus/contracts';
import { containersOf } from '@kubus/pod-lifecycle';

/** The objects to which the environments of the pod's containers refer, and its pull Secrets; each one once. */
export function referencedObjects(pod: Pick<Pod, 'metadata' | 'spec'>): readonly ObjectReference[] {
  const { namespace } = pod.metadata;
  const environments = containersOf(pod).flatMap(({ container }) => environmentSources(namespace, container));
  return eachOnce([...environments, ...pullSecrets(pod)]);
}

/** The objects from which the pod's volumes are created; each one once. */
export function mountedObjects({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): readonly ObjectReference[] {
  return eachOnce((spec.volumes ?? []).flatMap((volume) => volumeSources(metadata.namespace, volume)));
}

/** Whether the pod has a ClusterTrustBundle in a volume. */
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

/** The Secrets with a pod's registry credentials, in the order of its spec (behaviour:images, Credentials). */
export function pullSecrets({ metadata, spec }: Pick<Pod, 'metadata' | 'spec'>): readonly ObjectReference[] {
  const { namespace } = metadata;
  const names = (spec.imagePullSecrets ?? []).map(({ name = '' }) => name).filter((name) => name !== '');
  return names.map((name) => ({ kind: 'Secret', namespace, name }));
}

/** The object in the pod's namespace that is named by one of two fields, if any. */
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
