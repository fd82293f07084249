import type {
  CachedObject,
  ClaimName,
  ClusterNode,
  CsiDriver,
  CsiPersistentVolume,
  ObjectReference,
  TrustBundle,
  VolumeAttachment,
  VolumeClaim,
} from '@kubus/contracts';

/** What is known about the objects from which volumes are created; undefined until it has been read. */
export interface KnownObjects {
  object(reference: ObjectReference): CachedObject | undefined;
  claim(name: ClaimName): VolumeClaim | undefined;
  /** `missing`: the cluster has no CSIDriver with that name. */
  csiDriver(name: string): CsiDriver | 'missing' | undefined;
  /** The attachment of a driver's volume to this node. */
  attachment(volume: Pick<CsiPersistentVolume, 'driver' | 'volumeHandle'>): VolumeAttachment | undefined;
  node(): Pick<ClusterNode, 'volumesInUse' | 'volumesAttached'> | undefined;
  /** All ClusterTrustBundles of the cluster. */
  trustBundles(): readonly TrustBundle[] | undefined;
  /** The node's allocatable resources, quantities by name. */
  allocatable(): Readonly<Record<string, string>> | undefined;
}
