import type { Container, Pod, Volume, VolumeProjection } from '@kubus/contracts';
import { type FieldError, FieldPath } from './field.ts';

/**
 * A static pod must not refer to API objects: a node must be able to start it without the API (the node may
 * be the one that runs the API server). One error for each reference.
 * Source: the gate PreventStaticPodAPIReferences.
 */
export function apiReferences(pod: Pod, at: FieldPath = FieldPath.root): readonly FieldError[] {
  return referencedKinds(pod, at).map(({ path, kind }) => ({
    path,
    message: `Forbidden: static pods may not reference ${kind}`,
  }));
}

/** A reference of a pod to an API object. */
interface ApiReference {
  readonly path: FieldPath;
  /** As the reference calls its kind: `secrets (via projected volumes)`. */
  readonly kind: string;
}

/** Every reference of a pod to an API object. Source: HasAPIObjectReference of k8s.io/kubernetes/pkg/api/pod. */
export function referencedKinds(pod: Pod, at: FieldPath = FieldPath.root): readonly ApiReference[] {
  const found: ApiReference[] = [];
  const add = (path: FieldPath, kind: string) => found.push({ path, kind });
  const path = at.child('spec');
  const { spec } = pod;
  if ((spec.serviceAccountName ?? '') !== '') add(path.child('serviceAccountName'), 'serviceaccounts');
  for (const [i] of (spec.imagePullSecrets ?? []).entries()) add(path.child('imagePullSecrets').index(i), 'secrets');
  for (const [i] of (spec.resourceClaims ?? []).entries()) {
    add(path.child('resourceClaims').index(i), 'resourceclaims');
  }
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [i, container] of (spec[list] ?? []).entries()) {
      containerReferences(container, path.child(list).index(i), add);
    }
  }
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    volumeReferences(volume, path.child('volumes').index(i), add);
  }
  return found;
}

type Add = (path: FieldPath, kind: string) => void;

function containerReferences(container: Container, path: FieldPath, add: Add): void {
  for (const [i, { configMapRef, secretRef }] of (container.envFrom ?? []).entries()) {
    const at = path.child('envFrom').index(i);
    if (configMapRef !== undefined) add(at.child('configMapRef'), 'configmaps');
    if (secretRef !== undefined) add(at.child('secretRef'), 'secrets');
  }
  for (const [i, { valueFrom }] of (container.env ?? []).entries()) {
    const at = path.child('env').index(i).child('valueFrom');
    if (valueFrom?.configMapKeyRef !== undefined) add(at.child('configMapKeyRef'), 'configmaps');
    if (valueFrom?.secretKeyRef !== undefined) add(at.child('secretKeyRef'), 'secrets');
  }
}

/** Kinds of volumes that are API objects, or that require one to be mounted. */
const volumeKinds: Partial<Record<keyof Volume, string>> = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
};
const projections: Partial<Record<keyof VolumeProjection, string>> = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificaterequests (via projected volumes)',
};
/** Volumes that may name a Secret with the storage system's credentials. */
const withSecretRef = ['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'] as const;

function volumeReferences(volume: Volume, path: FieldPath, add: Add): void {
  for (const [kind, what] of entriesOf(volumeKinds)) {
    if (volume[kind] !== undefined) add(path.child(kind), what);
  }
  for (const kind of withSecretRef) {
    if (volume[kind]?.secretRef !== undefined) add(path.child(kind, 'secretRef'), 'secrets');
  }
  for (const [i, source] of (volume.projected?.sources ?? []).entries()) {
    const at = path.child('projected', 'sources').index(i);
    for (const [kind, what] of entriesOf(projections)) {
      if (source[kind] !== undefined) add(at.child(kind), what);
    }
  }
}

function entriesOf<K extends string>(table: Partial<Record<K, string>>): [K, string][] {
  return Object.entries(table) as [K, string][];
}
