import { parseQuantity, quantityMilli } from '@kubus/contracts';
import { type Json, type JsonObject, asList, asObject, asText, at } from './json.ts';
import type { KubeObject } from './object.ts';

/** Whether the volume is reserved for the claim: by name alone, or by the claim's UID. */
export function isVolumeOf(volume: KubeObject, { metadata }: KubeObject): boolean {
  const reference = asObject(volume.spec?.['claimRef']);
  const uid = asText(reference['uid']);
  return (
    reference['namespace'] === metadata.namespace &&
    reference['name'] === metadata.name &&
    (uid === '' || uid === metadata.uid)
  );
}

/**
 * The volume that an unbound claim gets: the one that it names, else one that is reserved for it, else the smallest free one of its class that
 * has its access modes, volume mode, labels, and size. Source: pkg/controller/volume/persistentvolume.
 */
export function volumeFor(claim: KubeObject, volumes: readonly KubeObject[]): KubeObject | undefined {
  const wanted = asText(at(claim, 'spec', 'volumeName'));
  const isThere = ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined;
  const isFree = (volume: KubeObject) => volume.spec?.['claimRef'] === undefined || isVolumeOf(volume, claim);
  const free = volumes.filter((volume) => isThere(volume) && isFree(volume));
  if (wanted !== '') return free.find(({ metadata }) => metadata.name === wanted);
  const fitting = free.filter((volume) => fits(claim, volume));
  return fitting.find((volume) => isVolumeOf(volume, claim)) ?? fitting.sort(bySize)[0];
}

function fits({ spec: asked = {} }: KubeObject, { spec: has = {}, metadata }: KubeObject): boolean {
  const modes = new Set(asList(has['accessModes']));
  const labels = Object.entries(asObject(at(asked, 'selector', 'matchLabels')));
  const expressions = asList(at(asked, 'selector', 'matchExpressions'));
  return (
    asText(asked['storageClassName']) === asText(has['storageClassName']) &&
    asked['volumeMode'] === has['volumeMode'] &&
    asList(asked['accessModes']).every((mode) => modes.has(mode)) &&
    // A selector that is more than labels is left to its author, who can name the volume.
    expressions.length === 0 &&
    labels.every(([key, value]) => metadata.labels?.[key] === value) &&
    sizeOf(has['capacity']) >= sizeOf(at(asked, 'resources', 'requests'))
  );
}

const bySize = (one: KubeObject, other: KubeObject) =>
  sizeOf(one.spec?.['capacity']) < sizeOf(other.spec?.['capacity']) ? -1 : 1;

/** 0 for one that cannot be read. */
function sizeOf(amounts: Json | undefined): bigint {
  const quantity = parseQuantity(asText(at(amounts, 'storage')));
  return quantity === undefined ? 0n : quantityMilli(quantity);
}

/** Both objects bound to each other, as the reference writes them. */
export function boundTo(
  claim: KubeObject,
  volume: KubeObject,
): { readonly claim: KubeObject; readonly volume: KubeObject } {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion };
  const isReserved = volume.spec?.['claimRef'] !== undefined;
  const isNamed = asText(at(claim, 'spec', 'volumeName')) !== '';
  const byController = { 'pv.kubernetes.io/bound-by-controller': 'yes' };
  return {
    volume: {
      ...annotated(volume, isReserved ? {} : byController),
      spec: { ...volume.spec, claimRef: { ...claimRef, ...asObject(volume.spec?.['claimRef']), uid } as JsonObject },
      status: { ...volume.status, phase: 'Bound' },
    },
    claim: {
      ...annotated(claim, { 'pv.kubernetes.io/bind-completed': 'yes', ...(isNamed ? {} : byController) }),
      spec: { ...claim.spec, volumeName: volume.metadata.name },
      status: {
        ...claim.status,
        phase: 'Bound',
        accessModes: volume.spec?.['accessModes'],
        capacity: volume.spec?.['capacity'],
      },
    },
  };
}

function annotated(object: KubeObject, more: Readonly<Record<string, string>>): KubeObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...more } } };
}

/** Whether a pod that has not ended names the claim. */
export function usesClaim({ metadata, spec, status }: KubeObject, claim: KubeObject): boolean {
  if (metadata.namespace !== claim.metadata.namespace) return false;
  if (['Succeeded', 'Failed'].includes(asText(status?.['phase']))) return false;
  return asList(spec?.['volumes']).some(
    (volume) => at(volume, 'persistentVolumeClaim', 'claimName') === claim.metadata.name,
  );
}
