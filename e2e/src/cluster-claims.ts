import { createHash } from 'node:crypto';
import type { PodRef } from '@kubus/contracts';
import type { JsonObject } from '@kubus/kube-fixture';
import type { ClusterNode } from './cluster-node.ts';

/** What every claim and every volume of a test has; its claims are bound to the volumes of their names alone. */
const storage = { accessModes: ['ReadWriteOnce', 'ReadWriteMany'], storageClassName: '' };

/** A volume of a CSI driver. */
export interface DriverVolume extends JsonObject {
  readonly driver: string;
  readonly volumeHandle: string;
}

/** Claims, their volumes and their drivers, with what the cluster's controllers do where it has none. */
export class ClusterClaims {
  readonly #parts: ClusterNode;

  constructor(parts: ClusterNode) {
    this.#parts = parts;
  }

  /** A claim of the volume of the same name. */
  async create(name: string, ownerReferences: JsonObject[] = []): Promise<void> {
    const spec = { ...storage, volumeName: name, resources: { requests: { storage: '1Mi' } } };
    const metadata = { name, ownerReferences };
    await this.#parts.cluster.api.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec });
  }

  /** The claim that is made for a pod's ephemeral volume. Returns its name. */
  async createFor({ name: pod, uid }: PodRef, volume: string): Promise<string> {
    const name = `${pod}-${volume}`;
    if (this.#isAlone) await this.create(name, [{ apiVersion: 'v1', kind: 'Pod', name: pod, uid, controller: true }]);
    else await this.#parts.cluster.api.waitFor({ kind: 'PersistentVolumeClaim', name }, () => true);
    return name;
  }

  /** Makes the claim's volume, of 1 MiB, and binds them. */
  async bind(name: string, source: JsonObject): Promise<void> {
    const { api } = this.#parts.cluster;
    const { uid } = (await api.get({ kind: 'PersistentVolumeClaim', name }))?.metadata ?? {};
    const claimRef = { namespace: 'default', name, uid };
    const spec = { ...storage, capacity: { storage: '1Mi' }, claimRef, ...source };
    await api.create({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec });
    if (this.#isAlone) await this.says(name, { phase: 'Bound', capacity: { storage: '1Mi' } });
  }

  /** A claim with its volume. */
  async make(name: string, source: JsonObject): Promise<void> {
    await this.create(name);
    await this.bind(name, source);
  }

  /** Changes a claim's status. */
  async says(name: string, status: JsonObject): Promise<void> {
    const claim = { kind: 'PersistentVolumeClaim', name };
    await this.#parts.cluster.api.patch(claim, { status }, { subresource: 'status' });
  }

  /** Deletes claims and their volumes, which nobody uses any more. */
  async release(...names: string[]): Promise<void> {
    const { api } = this.#parts.cluster;
    for (const kind of ['PersistentVolumeClaim', 'PersistentVolume']) {
      for (const name of names) {
        // A claim that was made for a pod goes with it, where a controller looks after that.
        if ((await api.get({ kind, name })) === undefined) continue;
        await api.patch({ kind, name }, { metadata: { finalizers: null } });
        await api.delete({ kind, name });
      }
    }
  }

  /** What the cluster is to know of a driver. */
  async describe(name: string, spec: JsonObject): Promise<void> {
    const about = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name } };
    await this.#parts.cluster.api.create({ ...about, spec });
  }

  /** Does what a driver's attacher does, and the attach controller before and after it: the volume is there for the node. */
  async attach(persistentVolumeName: string, { driver, volumeHandle }: DriverVolume): Promise<string> {
    const { node, cluster } = this.#parts;
    const hash = createHash('sha256').update(`${volumeHandle}${driver}${node.name}`).digest('hex');
    const name = `csi-${hash}`;
    if (this.#isAlone) {
      const spec = { attacher: driver, nodeName: node.name, source: { persistentVolumeName } };
      const about = { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name } };
      await cluster.api.create({ ...about, spec });
    }
    const attachment = { kind: 'VolumeAttachment', name };
    await cluster.api.waitFor(attachment, () => true);
    const status = { attached: true, attachmentMetadata: { device: 'sdb' } };
    await cluster.api.patch(attachment, { status }, { subresource: 'status' });
    if (this.#isAlone) await this.#tellAttached([{ name: uniqueName({ driver, volumeHandle }), devicePath: '' }]);
    return name;
  }

  /** Undoes {@link attach}, once the node does not use the volume any more. */
  async detach(attachment: string): Promise<void> {
    if (!this.#isAlone) return;
    await this.#tellAttached([]);
    await this.#parts.cluster.api.delete({ kind: 'VolumeAttachment', name: attachment });
  }

  async #tellAttached(volumesAttached: JsonObject[]): Promise<void> {
    const { node, cluster } = this.#parts;
    const status = { status: { volumesAttached } };
    await cluster.api.patch({ kind: 'Node', name: node.name }, status, { subresource: 'status' });
  }

  /** The test API server has no controllers. */
  get #isAlone(): boolean {
    return this.#parts.cluster.server !== undefined;
  }
}

/** A volume's name in the status of a Node. */
export function uniqueName({ driver, volumeHandle }: DriverVolume): string {
  return `kubernetes.io/csi/${driver}^${volumeHandle}`;
}
