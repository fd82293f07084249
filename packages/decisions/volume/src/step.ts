import type { ObjectVersion } from '@kubus/contracts';
import type { VolumeOwnership } from './ownership.ts';

/** A folder on the node's disk. */
export interface FolderStep {
  readonly kind: 'folder';
  readonly path: string;
  readonly mode: number;
  /** The pod's fsGroup, for files that are created in it. */
  readonly gid?: number;
  /** A quantity of bytes: the pod is evicted when the content is larger. */
  readonly sizeLimit?: string;
  /** The kernel counts what is in it, where the file system can. */
  readonly quota?: true;
}

/** A file system in memory, mounted on a folder. */
export interface MemoryStep {
  readonly kind: 'memory';
  readonly path: string;
  readonly type: 'tmpfs' | 'hugetlbfs';
  readonly options: readonly string[];
}

/** Something on the host, checked or created according to its type. */
export interface HostStep {
  readonly kind: 'host';
  readonly path: string;
  readonly type: string;
  /** The pod cannot write to it. */
  readonly readOnly?: boolean;
}

/** What identifies a volume that outlives its pods to its user. */
export interface ClaimReference {
  readonly namespace: string;
  readonly name: string;
}

/** A folder, or a block device with a file system, of the node, mounted on a folder of the pod. */
export interface LocalStep {
  readonly kind: 'local';
  /** Its path in the pod's folder: `pods/<uid>/volumes/kubernetes.io~local-volume/<specName>`. */
  readonly path: string;
  /** UID of the pod. */
  readonly uid: string;
  /** The name of the PersistentVolume. */
  readonly specName: string;
  /** Folder or block device. */
  readonly source: string;
  /** Where a device is mounted for all pods that use it. */
  readonly deviceFolder: string;
  /** For a device without a file system. */
  readonly fsType: string;
  readonly mountOptions: readonly string[];
  readonly readOnly: boolean;
  readonly ownership?: VolumeOwnership;
  readonly claim?: ClaimReference;
}

/** A block device of the node that containers receive as a device. */
export interface LocalDeviceStep {
  readonly kind: 'localDevice';
  /** A link to the device: `pods/<uid>/volumeDevices/kubernetes.io~local-volume/<specName>`. */
  readonly path: string;
  readonly source: string;
  /** A file through which the device stays in use, even if its name changes: in a folder for all pods that use it. */
  readonly held: string;
}

/** A folder of an NFS server. */
export interface NfsStep {
  readonly kind: 'nfs';
  readonly path: string;
  /** As for mount(8): `server:/folder`. */
  readonly source: string;
  readonly options: readonly string[];
  readonly readOnly: boolean;
  readonly claim?: ClaimReference;
}

/** Files that the node writes, and writes again when their content changes. */
export interface ContentStep {
  readonly kind: 'content';
  /** The folder of the files. */
  readonly folder: FolderStep | MemoryStep;
  readonly files: readonly ContentFile[];
  /** The versions of the objects from which values are read. */
  readonly objects: readonly ObjectVersion[];
  /** The service account of its tokens; undefined where it has none. */
  readonly account?: {
    readonly namespace: string;
    readonly name: string;
    readonly pod: { readonly name: string; readonly uid: string };
  };
  /** Folders in it on which containers have other mounts. */
  readonly mountPoints: readonly string[];
  /** The pod's fsGroup. */
  readonly gid?: number;
}

export interface ContentFile {
  /** Relative to the volume's folder. */
  readonly path: string;
  readonly mode: number;
  /** The owner. Undefined: root. */
  readonly uid?: number;
  readonly source: ContentSource;
}

/** The content of a file. Values of objects and tokens are read when the file is written and are not part of a step. */
export type ContentSource =
  | { readonly kind: 'text'; readonly text: string }
  /** The value of a key of one of the step's objects. */
  | { readonly kind: 'value'; readonly object: number; readonly key: string }
  | { readonly kind: 'token'; readonly audiences: readonly string[]; readonly expirationSeconds?: number };

/** A size of a volume. */
export interface CsiSize {
  /** Decimal. */
  readonly bytes: string;
  /** As in the PersistentVolume, such as `2Gi`. */
  readonly capacity: string;
}

/** A volume that is mounted by a CSI driver (CSI specification, NodeStageVolume and NodePublishVolume). */
export interface CsiStep {
  readonly kind: 'csi';
  /** Its path in the pod's folder: `pods/<uid>/volumes/kubernetes.io~csi/<specName>/mount`, for a device below `volumeDevices`. */
  readonly path: string;
  /** The name of the PersistentVolume, or a generated one for an inline volume. */
  readonly specName: string;
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType?: string;
  readonly readOnly: boolean;
  /** The CSI specification's name, such as `SINGLE_NODE_WRITER`; see `csiAccessMode`. */
  readonly accessMode: string;
  /** A block device and not a file system. */
  readonly block: boolean;
  readonly mountOptions: readonly string[];
  readonly volumeAttributes: Readonly<Record<string, string>>;
  /** The attachment's data for the driver. */
  readonly publishContext: Readonly<Record<string, string>>;
  readonly stageSecret?: ObjectVersion;
  readonly publishSecret?: ObjectVersion;
  readonly expandSecret?: ObjectVersion;
  /** Only where the group of the volume's files has to be changed to the pod's (the driver's fsGroupPolicy). */
  readonly fsGroup?: number;
  /** The pod's fsGroup, whatever the policy: a driver with VOLUME_MOUNT_GROUP changes the group of the files itself. */
  readonly mountGroup?: number;
  readonly fsGroupChangePolicy?: string;
  /** What the driver receives about the pod and its service account. */
  readonly pod: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly serviceAccount: string;
  };
  /** The driver receives the pod's name and UID (podInfoOnMount). */
  readonly tellPod: boolean;
  /** Tokens of the service account that the driver receives. */
  readonly tokens: readonly { readonly audience: string; readonly expirationSeconds?: number }[];
  /** The driver requires to be called again periodically. */
  readonly requiresRepublish: boolean;
  /** The volume is created and removed with the pod. */
  readonly inline: boolean;
  /** The size to which the file system has to be expanded. */
  readonly expandTo?: CsiSize;
  /** The claim by which the user identifies the volume. */
  readonly claim?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** How a volume is created. Equal steps have equal results; a step that changes is executed again in place. */
export type VolumeStep =
  FolderStep | MemoryStep | HostStep | ContentStep | LocalStep | LocalDeviceStep | NfsStep | CsiStep;

/** The operation that fails where a volume cannot be created: looking up its claim, attaching it, mounting its device, setting it up. */
export type VolumeStage = 'claim' | 'attach' | 'device' | 'setUp';

/** One volume of a pod: how to create it, why that is not possible, or what has to be known first. */
export type VolumePlan = {
  readonly name: string;
  /** The name under which its user knows it, if it is not its own: that of its PersistentVolume. */
  readonly specName?: string;
  /** Its name in `volumesInUse` of the Node object, where it has to be attached; set even while there is no step yet. */
  readonly attachable?: string;
  /** A supplemental group of the pod's processes (annotation of the PersistentVolume). */
  readonly gid?: number;
} & (
  | { readonly step: VolumeStep }
  | {
      readonly refusal: string;
      /** Undefined: `setUp`. */
      readonly at?: VolumeStage;
    }
  | { readonly awaits: string }
);
