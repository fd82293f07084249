import type { ObjectVersion } from '@kubus/contracts';
import type { VolumeOwnership } from './ownership.ts';

/** A folder on the node's disk. */
export interface FolderStep {
  readonly kind: 'folder';
  readonly path: string;
  readonly mode: number;
  /** The pod's fsGroup, for files that are made in it. */
  readonly gid?: number;
  /** A quantity of bytes: with more in it the pod is evicted. */
  readonly sizeLimit?: string;
}

/** A file system in memory, mounted on a folder. */
export interface MemoryStep {
  readonly kind: 'memory';
  readonly path: string;
  readonly type: 'tmpfs' | 'hugetlbfs';
  readonly options: readonly string[];
}

/** Something of the host, checked or made as its type says. */
export interface HostStep {
  readonly kind: 'host';
  readonly path: string;
  readonly type: string;
  /** The pod can not write it. */
  readonly readOnly?: boolean;
}

/** What a volume that outlives its pods is known by to its user. */
export interface ClaimReference {
  readonly namespace: string;
  readonly name: string;
}

/** A folder or a block device with a file system of the node, shown in a folder of the pod's. */
export interface LocalStep {
  readonly kind: 'local';
  /** Where the pod finds it: `pods/<uid>/volumes/kubernetes.io~local-volume/<specName>`. */
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

/** A block device of the node that containers get as such. */
export interface LocalDeviceStep {
  readonly kind: 'localDevice';
  /** A link to the device: `pods/<uid>/volumeDevices/kubernetes.io~local-volume/<specName>`. */
  readonly path: string;
  readonly source: string;
  /** A file that is the device, whatever becomes of its name: in a folder for all pods that use it. */
  readonly held: string;
}

/** A folder of an NFS server. */
export interface NfsStep {
  readonly kind: 'nfs';
  readonly path: string;
  /** As mount(8) takes it: `server:/folder`. */
  readonly source: string;
  readonly options: readonly string[];
  readonly readOnly: boolean;
  readonly claim?: ClaimReference;
}

/** Files that the node writes, and writes anew when what they are made of has changed. */
export interface ContentStep {
  readonly kind: 'content';
  /** What the files are in. */
  readonly folder: FolderStep | MemoryStep;
  readonly files: readonly ContentFile[];
  /** The states of the objects that values are read of. */
  readonly objects: readonly ObjectVersion[];
  /** Whose tokens it has; left out where it has none. */
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
  /** Below the volume's folder. */
  readonly path: string;
  readonly mode: number;
  /** Who owns it. Left out: root. */
  readonly uid?: number;
  readonly source: ContentSource;
}

/** What is in a file. Values of objects and tokens are read when it is written, and stand in no step. */
export type ContentSource =
  | { readonly kind: 'text'; readonly text: string }
  /** The value of a key of one of the step's objects. */
  | { readonly kind: 'value'; readonly object: number; readonly key: string }
  | { readonly kind: 'token'; readonly audiences: readonly string[]; readonly expirationSeconds?: number };

/** A size of a volume. */
export interface CsiSize {
  /** Decimal. */
  readonly bytes: string;
  /** As the PersistentVolume says it, such as `2Gi`. */
  readonly capacity: string;
}

/** A volume that a CSI driver makes (CSI specification, NodeStageVolume and NodePublishVolume). */
export interface CsiStep {
  readonly kind: 'csi';
  /** Where the pod finds it: `pods/<uid>/volumes/kubernetes.io~csi/<specName>/mount`, for a device below `volumeDevices`. */
  readonly path: string;
  /** The name of the PersistentVolume, or one that is made up for an inline volume. */
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
  /** What the attachment says to the driver. */
  readonly publishContext: Readonly<Record<string, string>>;
  readonly stageSecret?: ObjectVersion;
  readonly publishSecret?: ObjectVersion;
  readonly expandSecret?: ObjectVersion;
  /** Only where the volume's files are to belong to the pod's group (the driver's fsGroupPolicy). */
  readonly fsGroup?: number;
  /** The pod's fsGroup, whatever the policy: a driver with VOLUME_MOUNT_GROUP sees to the files itself. */
  readonly mountGroup?: number;
  readonly fsGroupChangePolicy?: string;
  /** What the driver is told of the pod and its service account. */
  readonly pod: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly serviceAccount: string;
  };
  /** Tell the driver of the pod (podInfoOnMount). */
  readonly tellPod: boolean;
  /** Tokens of the service account that the driver gets. */
  readonly tokens: readonly { readonly audience: string; readonly expirationSeconds?: number }[];
  /** The driver wants to be called again from time to time. */
  readonly requiresRepublish: boolean;
  /** The volume comes and goes with the pod. */
  readonly inline: boolean;
  /** How large the file system is to be made. */
  readonly expandTo?: CsiSize;
  /** What the volume is known by to its user. */
  readonly claim?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** How a volume comes to be. Two steps that are equal as JSON make the same; a step that changes is made again in place. */
export type VolumeStep =
  FolderStep | MemoryStep | HostStep | ContentStep | LocalStep | LocalDeviceStep | NfsStep | CsiStep;

/** What is to be done where a volume can not be made: its claim is looked at, it is attached, its device is mounted, it is set up. */
export type VolumeStage = 'claim' | 'attach' | 'device' | 'setUp';

/** One volume of a pod: how to make it, why that is not possible, or what has to be known first. */
export type VolumePlan = {
  readonly name: string;
  /** What its user knows it by, if not by its name: that of its PersistentVolume. */
  readonly specName?: string;
  /** Its name in the Node's `volumesInUse`, where it has to be attached; also while there is no step yet. */
  readonly attachable?: string;
  /** A group that the pod's processes get besides others (annotation of the PersistentVolume). */
  readonly gid?: number;
} & (
  | { readonly step: VolumeStep }
  | {
      readonly refusal: string;
      /** Left out: `setUp`. */
      readonly at?: VolumeStage;
    }
  | { readonly awaits: string }
);
