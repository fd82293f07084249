import type { FactOwner } from '@kubus/bus';
import {
  type ClusterNode,
  type CsiDriver,
  type CsiPersistentVolume,
  type VolumeAttachment,
  uniqueCsiVolume,
} from '@kubus/contracts';
import { KubeError, kubePath } from '@kubus/kube';
import { toError } from '@kubus/ports';
import { attachmentName } from '@kubus/volume';
import type { ApiReader } from '../follow/api-reader.ts';
import { FollowedSet } from '../follow/followed-set.ts';
import { Polled } from '../follow/polled.ts';
import { readAttachment } from './storage-objects.ts';

type Reference = Pick<VolumeAttachment, 'name' | 'driver' | 'volumeHandle'>;

/** Follows one attachment. */
function followAttachment(reader: ApiReader, reference: Reference, changed: () => void): Polled<VolumeAttachment> {
  const { client, logger } = reader;
  const { name } = reference;
  const path = kubePath({ group: 'storage.k8s.io', version: 'v1', resource: 'volumeattachments', name });
  return new Polled<VolumeAttachment>(reader, {
    read: async (_known, signal) => {
      try {
        return { ...reference, ...readAttachment(await client.request({ method: 'GET', path, signal })) };
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 404) throw error;
        return { ...reference, attached: false, metadata: {} };
      }
    },
    isSettled: ({ attached }) => attached,
    failed: (error) => logger.warn({ attachment: name, err: toError(error).message }, 'cannot read an attachment'),
    changed,
  });
}

/**
 * The attachments of volumes that pods use. One is read only when the Node object lists its volume as attached: before,
 * there may be none, or one of an earlier attachment of the volume to this node.
 */
export class Attachments {
  readonly #set: FollowedSet<Reference, VolumeAttachment, Polled<VolumeAttachment>>;
  readonly #driverOf: (name: string) => CsiDriver | undefined;
  /** By claim. */
  readonly #volumes = new Map<string, CsiPersistentVolume>();
  #node: ClusterNode | undefined;

  /** @param driverOf finds a known driver */
  constructor(
    reader: ApiReader,
    facts: FactOwner<VolumeAttachment>,
    driverOf: (name: string) => CsiDriver | undefined,
  ) {
    const follow = (reference: Reference, changed: () => void) => followAttachment(reader, reference, changed);
    this.#set = new FollowedSet({ clock: reader.clock, facts, keepMs: 0, follow });
    this.#driverOf = driverOf;
  }

  /** Sets the CSI volume of a claim; undefined: it has none. */
  setVolume(claim: string, volume: CsiPersistentVolume | undefined): void {
    if (volume === undefined) this.#volumes.delete(claim);
    else this.#volumes.set(claim, volume);
    this.#update(claim);
  }

  /** Sets the Node object; undefined: there is none. */
  setNode(node: ClusterNode | undefined): void {
    this.#node = node;
    this.updateAll();
  }

  /** To be called when the known drivers have changed. */
  updateAll(): void {
    for (const claim of this.#volumes.keys()) this.#update(claim);
  }

  /** To be called when all claims, the drivers and the node are known. */
  allKnown(): void {
    this.#set.allKnown();
  }

  stop(): void {
    this.#set.stop();
  }

  #update(claim: string): void {
    const wanted = this.#attachmentOf(this.#volumes.get(claim));
    this.#set.set(claim, new Map(wanted === undefined ? [] : [[wanted.name, wanted]]));
  }

  #attachmentOf(volume: CsiPersistentVolume | undefined): Reference | undefined {
    const { name: node, volumesAttached = [] } = this.#node ?? {};
    if (volume === undefined || node === undefined || !volumesAttached.includes(uniqueCsiVolume(volume)))
      return undefined;
    const { driver, volumeHandle } = volume;
    if (this.#driverOf(driver)?.attachRequired === false) return undefined;
    return { name: attachmentName(volume, node), driver, volumeHandle };
  }
}
