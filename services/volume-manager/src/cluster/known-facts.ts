import type { Bus, Cause, FactReader } from '@kubus/bus';
import { hasTrustBundles, mountedObjects } from '@kubus/container-config';
import {
  type CachedObject,
  type ClaimName,
  type ClusterNode,
  type CsiDriver,
  type CsiPersistentVolume,
  type ObjectReference,
  type Pod,
  type ResourceList,
  type TrustBundle,
  type VolumeAttachment,
  type VolumeClaim,
  cachedObject,
  claimKey,
  clusterNode,
  csiDriver,
  objectKey,
  trustBundle,
  volumeAttachment,
  volumeClaim,
} from '@kubus/contracts';
import { type KnownObjects, claimsOf, csiSecretsOf, csiVolumeOf, hasResourceFields } from '@kubus/volume';

/** Called when a fact appears or changes, for the pods for which `concerns` is true. */
type Changed = (concerns: (pod: Pod) => boolean, cause: Cause) => void;

/** The API server's objects that volumes are made of, as published in facts. */
export class KnownFacts implements KnownObjects {
  readonly #objects: FactReader<CachedObject>;
  readonly #claims: FactReader<VolumeClaim>;
  readonly #drivers: FactReader<CsiDriver>;
  readonly #attachments: FactReader<VolumeAttachment>;
  readonly #bundles: FactReader<TrustBundle>;
  readonly #allocatable: ResourceList | undefined;
  #node: ClusterNode | undefined;
  #driversComplete = false;
  #bundlesComplete = false;

  /** @param options.allocatable the node's allocatable resources, where no Node object lists them */
  constructor(bus: Bus, options: { changed: Changed; allocatable?: ResourceList | undefined }) {
    const { changed, allocatable } = options;
    this.#allocatable = allocatable;
    const ofObject = (key: string) => (pod: Pod) => mountedObjects(pod).some((one) => objectKey(one) === key);
    const ofSecret = (key: string) => (pod: Pod) =>
      this.#volumesOf(pod)
        .flatMap(csiSecretsOf)
        .some((one) => objectKey(one) === key);
    this.#objects = bus.reader(cachedObject, {
      changed: ({ key, cause }) => changed((pod) => ofObject(key)(pod) || ofSecret(key)(pod), cause),
    });
    const ofClaim = (key: string) => (pod: Pod) => claimsOf(pod).some((one) => claimKey(one) === key);
    this.#claims = bus.reader(volumeClaim, { changed: ({ key, cause }) => changed(ofClaim(key), cause) });
    const ofDriver = (name: string) => (pod: Pod) =>
      this.#volumesOf(pod).some(({ driver }) => driver === name) || inlineDrivers(pod).includes(name);
    this.#drivers = bus.reader(csiDriver, {
      changed: ({ key, cause }) => changed(ofDriver(key), cause),
      removed: ({ key }, cause) => changed(ofDriver(key), cause),
      complete: (_instance, _epoch, cause) => {
        this.#driversComplete = true;
        changed((pod) => this.#usesDriver(pod), cause);
      },
    });
    const ofVolume = (handle: string) => (pod: Pod) =>
      this.#volumesOf(pod).some(({ volumeHandle }) => volumeHandle === handle);
    this.#attachments = bus.reader(volumeAttachment, {
      changed: ({ value, cause }) => changed(ofVolume(value.volumeHandle), cause),
    });
    this.#bundles = bus.reader(trustBundle, {
      changed: ({ cause }) => changed(hasTrustBundles, cause),
      removed: (_last, cause) => changed(hasTrustBundles, cause),
      complete: (_instance, _epoch, cause) => {
        this.#bundlesComplete = true;
        changed(hasTrustBundles, cause);
      },
    });
    bus.reader(clusterNode, {
      changed: ({ value, cause }) => {
        const before = this.#node;
        this.#node = value;
        if (volumesText(value) !== volumesText(before)) changed((pod) => this.#volumesOf(pod).length > 0, cause);
        if (resourcesText(value) !== resourcesText(before)) changed(hasResourceFields, cause);
      },
    });
  }

  object(reference: ObjectReference): CachedObject | undefined {
    return this.#objects.get(objectKey(reference))?.value;
  }

  claim(name: ClaimName): VolumeClaim | undefined {
    return this.#claims.get(claimKey(name))?.value;
  }

  csiDriver(name: string): CsiDriver | 'missing' | undefined {
    return this.#drivers.get(name)?.value ?? (this.#driversComplete ? 'missing' : undefined);
  }

  attachment(volume: Pick<CsiPersistentVolume, 'driver' | 'volumeHandle'>): VolumeAttachment | undefined {
    for (const { value } of this.#attachments) {
      if (value.driver === volume.driver && value.volumeHandle === volume.volumeHandle) return value;
    }
    return undefined;
  }

  node(): ClusterNode | undefined {
    return this.#node;
  }

  trustBundles(): TrustBundle[] | undefined {
    return this.#bundlesComplete ? [...this.#bundles].map(({ value }) => value) : undefined;
  }

  allocatable(): ResourceList | undefined {
    return this.#allocatable ?? this.#node?.allocatable;
  }

  /** The CSI volumes that the pod's claims are bound to. */
  #volumesOf(pod: Pod): CsiPersistentVolume[] {
    return claimsOf(pod).flatMap((name) => csiVolumeOf(this.claim(name)) ?? []);
  }

  #usesDriver(pod: Pod): boolean {
    return this.#volumesOf(pod).length > 0 || inlineDrivers(pod).length > 0;
  }
}

function inlineDrivers({ spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ csi }) => (csi === undefined ? [] : [csi.driver]));
}

function resourcesText({ allocatable }: Partial<ClusterNode> = {}): string {
  return JSON.stringify(allocatable);
}

function volumesText({ volumesInUse, volumesAttached }: Partial<ClusterNode> = {}): string {
  return JSON.stringify([volumesInUse, volumesAttached]);
}
