import { createHash } from 'node:crypto';
import type { PodRef } from '@kubus/contracts';
import type { JsonObject } from '@kubus/kube-fixture';
import type { ClusterNode } from './cluster-node.ts';

/** Fields that every claim and volume of a test has; a claim is bound only to the volume of its name. */
const storage = { accessModes: ['ReadWriteOnce', 'ReadWriteMany'], storageClassName: '' };

/** A volume of a CSI driver. */
export interface DriverVolume extends JsonObject {
  readonly driver: string;
  readonly volumeHandle: string;
}

/** Claims, their volumes and their drivers; does the work of the cluster's controllers where there are none. */
export class ClusterClaims {
  readonly #parts: ClusterNode;

  constructor(parts: ClusterNode) {
    this.#parts = parts;
  }

  /** Creates a claim for the volume of the same name. */
  async create(name: string, ownerReferences: JsonObject[] = []): Promise<void> {
    const spec = { ...storage, volumeName: name, resources: { requests: { storage: '1Mi' } } };
    const metadata = { name, ownerReferences };
    await this.#parts.cluster.api.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec });
  }

  /** Creates the claim of a pod's ephemeral volume. Returns its name. */
  async createFor({ name: pod, uid }: PodRef, volume: string): Promise<string> {
    const name = `${pod}-${volume}`;
    if (this.#isAlone) await this.create(name, [{ apiVersion: 'v1', kind: 'Pod', name: pod, uid, controller: true }]);
    else await this.#parts.cluster.api.waitFor({ kind: 'PersistentVolumeClaim', name }, () => true);
    return name;
  }

  /** Creates the claim's volume of 1 MiB, and binds them. */
  async bind(name: string, source: JsonObject): Promise<void> {
    const { api } = this.#parts.cluster;
    const { uid } = (await api.get({ kind: 'PersistentVolumeClaim', name }))?.metadata ?? {};
    const claimRef = { namespace: 'default', name, uid };
    const spec = { ...storage, capacity: { storage: '1Mi' }, claimRef, ...source };
    await api.create({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec });
    if (this.#isAlone) await this.says(name, { phase: 'Bound', capacity: { storage: '1Mi' } });
  }

  /** Creates a claim with its volume. */
  async make(name: string, source: JsonObject): Promise<void> {
    await this.create(name);
    await this.bind(name, source);
  }

  /** Changes a claim's status. */
  async says(name: string, status: JsonObject): Promise<void> {
    const claim = { kind: 'PersistentVolumeClaim', name };
    await this.#parts.cluster.api.patch(claim, { status }, { subresource: 'status' });
  }

  /** Deletes claims and their volumes, which no pod may use any more. */
  async release(...names: string[]): Promise<void> {
    const { api } = this.#parts.cluster;
    for (const kind of ['PersistentVolumeClaim', 'PersistentVolume']) {
      for (const name of names) {
        // Where a garbage collector runs, a claim that was created for a pod is deleted with it.
        if ((await api.get({ kind, name })) === undefined) continue;
        await api.patch({ kind, name }, { metadata: { finalizers: null } });
        await api.delete({ kind, name });
      }
    }
  }

  /** Creates the CSIDriver object of a driver. */
  async describe(name: string, spec: JsonObject): Promise<void> {
    const about = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name } };
    await this.#parts.cluster.api.create({ ...about, spec });
  }

  /** Attaches a volume to the node, as the attach controller and the driver's attacher do. */
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

  /** Undoes {@link attach} once the node no longer uses the volume. */
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
