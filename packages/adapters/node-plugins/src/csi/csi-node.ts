import {
  type NodeGetVolumeStatsResponse,
  type NodeServiceCapability_RPC_Type as NodeCapability,
  NodeService,
  type VolumeCapability,
  type VolumeCapability_AccessMode_Mode as AccessMode,
  volumeCapability_AccessMode_ModeFromJSON as accessModeOf,
} from '@kubus/proto/csi-grpc';
import { type Callee, callPlugin } from '../registration/call.ts';

/** How long a driver may take for a call, in milliseconds, as in the reference kubelet. */
const LIMIT_MS = 120_000;

type Texts = Readonly<Record<string, string>>;

/** A driver's information about the node. */
export interface CsiNodeInfo {
  readonly nodeId: string;
  /** Maximum number of volumes attached to the node; undefined if the driver sets no limit. */
  readonly maxVolumes?: number;
  readonly topology: Texts;
}

/** How a volume is used. */
export interface CsiUse {
  /** As a block device; otherwise as a file system. */
  readonly block: boolean;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  /** A name of the specification; one that the driver does not support is replaced by an older one. */
  readonly accessMode: string;
  /** The group of the files, for a driver that sets it itself (VOLUME_MOUNT_GROUP). */
  readonly group?: number;
}

interface CsiMaking {
  readonly volumeId: string;
  readonly publishContext: Texts;
  readonly stagingPath: string;
  readonly use: CsiUse;
  readonly secrets: Texts;
  readonly volumeContext: Texts;
}

export type CsiStaging = CsiMaking;

export interface CsiPublishing extends CsiMaking {
  readonly path: string;
  readonly readOnly: boolean;
}

export interface CsiExpansion extends Pick<CsiMaking, 'volumeId' | 'stagingPath' | 'use' | 'secrets'> {
  readonly path: string;
  /** Decimal. */
  readonly bytes: string;
}

/** Used, available and total amount; decimal. */
interface CsiAmounts {
  readonly used: string;
  readonly available: string;
  readonly total: string;
}

/** Usage of a volume; undefined values are not reported by the driver. */
export interface CsiUsage {
  readonly bytes?: CsiAmounts;
  readonly inodes?: CsiAmounts;
}

/**
 * The node's side of one driver. Every method throws PluginCallError. If the driver has no staging
 * (STAGE_UNSTAGE_VOLUME), requests
 * have no staging path.
 */
export class CsiNode {
  readonly #callee: Callee;
  #capabilities: ReadonlySet<NodeCapability> | undefined;

  /**
   * @param socket the path of the driver's own socket
   * @param limitMs how long a call may take
   */
  constructor(socket: string, limitMs = LIMIT_MS) {
    this.#callee = { socket, limitMs };
  }

  /** Requested once: a driver with other capabilities registers again. */
  async can(capability: NodeCapability): Promise<boolean> {
    if (this.#capabilities === undefined) {
      const { capabilities } = await callPlugin(this.#callee, NodeService.nodeGetCapabilities, {});
      this.#capabilities = new Set(capabilities.flatMap(({ rpc }) => (rpc === undefined ? [] : [rpc.type])));
    }
    return this.#capabilities.has(capability);
  }

  async info(): Promise<CsiNodeInfo> {
    const answer = await callPlugin(this.#callee, NodeService.nodeGetInfo, {});
    const maxVolumes = Number(answer.maxVolumesPerNode);
    return {
      nodeId: answer.nodeId,
      ...(maxVolumes > 0 && { maxVolumes }),
      topology: answer.accessibleTopology?.segments ?? {},
    };
  }

  async stage({ volumeId, publishContext, stagingPath, use, secrets, volumeContext }: CsiStaging): Promise<void> {
    await callPlugin(this.#callee, NodeService.nodeStageVolume, {
      volumeId,
      publishContext: { ...publishContext },
      stagingTargetPath: stagingPath,
      volumeCapability: await this.#capability(use),
      secrets: { ...secrets },
      volumeContext: { ...volumeContext },
    });
  }

  async unstage(volumeId: string, stagingPath: string): Promise<void> {
    await callPlugin(this.#callee, NodeService.nodeUnstageVolume, { volumeId, stagingTargetPath: stagingPath });
  }

  async publish(publishing: CsiPublishing): Promise<void> {
    const { volumeId, publishContext, stagingPath, path, use, readOnly, secrets, volumeContext } = publishing;
    await callPlugin(this.#callee, NodeService.nodePublishVolume, {
      volumeId,
      publishContext: { ...publishContext },
      stagingTargetPath: await this.#staging(stagingPath),
      targetPath: path,
      volumeCapability: await this.#capability(use),
      readonly: readOnly,
      secrets: { ...secrets },
      volumeContext: { ...volumeContext },
    });
  }

  async unpublish(volumeId: string, path: string): Promise<void> {
    await callPlugin(this.#callee, NodeService.nodeUnpublishVolume, { volumeId, targetPath: path });
  }

  /** Returns the size of the volume in bytes, decimal; 0 if the driver does not report it. */
  async expand({ volumeId, path, stagingPath, bytes, use, secrets }: CsiExpansion): Promise<string> {
    const { capacityBytes } = await callPlugin(this.#callee, NodeService.nodeExpandVolume, {
      volumeId,
      volumePath: path,
      capacityRange: { requiredBytes: bytes, limitBytes: '0' },
      stagingTargetPath: await this.#staging(stagingPath),
      volumeCapability: await this.#capability(use),
      secrets: { ...secrets },
    });
    return capacityBytes;
  }

  /** The usage of the volume at the path, as the driver reports it. */
  async stats(volumeId: string, path: string): Promise<CsiUsage> {
    const request = { volumeId, volumePath: path, stagingTargetPath: '' };
    const { usage } = await callPlugin(this.#callee, NodeService.nodeGetVolumeStats, request);
    const [bytes, inodes] = [amounts(usage, 'BYTES'), amounts(usage, 'INODES')];
    return { ...(bytes && { bytes }), ...(inodes && { inodes }) };
  }

  async #staging(path: string): Promise<string> {
    return (await this.can('STAGE_UNSTAGE_VOLUME')) ? path : '';
  }

  async #capability({ block, fsType, mountFlags, accessMode, group }: CsiUse): Promise<VolumeCapability> {
    const mode = accessModeFor(accessModeOf(accessMode), await this.can('SINGLE_NODE_MULTI_WRITER'));
    if (block) return { block: {}, accessMode: { mode } };
    const volumeMountGroup = group === undefined ? '' : String(group);
    return { mount: { fsType, mountFlags: [...mountFlags], volumeMountGroup }, accessMode: { mode } };
  }
}

/**
 * A driver without the capability SINGLE_NODE_MULTI_WRITER supports only one mode for a single writing node, which is
 * deprecated for one with it (CSI specification, AccessMode).
 */
function accessModeFor(mode: AccessMode, tellsApart: boolean): AccessMode {
  if (tellsApart) return mode === 'SINGLE_NODE_WRITER' ? 'SINGLE_NODE_MULTI_WRITER' : mode;
  return mode === 'SINGLE_NODE_MULTI_WRITER' || mode === 'SINGLE_NODE_SINGLE_WRITER' ? 'SINGLE_NODE_WRITER' : mode;
}

function amounts(usage: NodeGetVolumeStatsResponse['usage'], wanted: 'BYTES' | 'INODES'): CsiAmounts | undefined {
  const found = usage.find(({ unit }) => unit === wanted);
  return found && { used: found.used, available: found.available, total: found.total };
}
