import type { Bus } from '@kubus/bus';
import {
  type CsiDriver,
  type VolumeClaim,
  clusterNode,
  csiDriver,
  objectKey,
  volumeAttachment,
  volumeClaim,
} from '@kubus/contracts';
import { kubePath } from '@kubus/kube';
import { type PodDemand, csiSecretsOf, csiVolumeOf } from '@kubus/volume';
import type { ApiReader } from '../follow/api-reader.ts';
import { Attachments } from './attachments.ts';
import { Claims } from './claims.ts';
import type { FollowedObjects } from '../objects/followed-objects.ts';
import { readDriver } from './storage-objects.ts';
import { PublishedCollection } from '../follow/published-collection.ts';

/** What the pods' claims need: their volumes, with the drivers, attachments and Secrets of these. */
export class Storage {
  readonly #objects: FollowedObjects;
  readonly #claims: Claims;
  readonly #drivers: PublishedCollection<CsiDriver>;
  readonly #attachments: Attachments;
  #claimsComplete = false;
  #nodeKnown = false;

  /** @param objects follows the Secrets of volumes; becomes complete once all claims have been read */
  constructor(bus: Bus, reader: ApiReader, objects: FollowedObjects) {
    this.#objects = objects;
    this.#claims = new Claims(reader, bus.owner(volumeClaim), {
      published: (key, claim) => this.#claimChanged(key, claim),
      completed: () => {
        this.#claimsComplete = true;
        objects.allKnown();
        this.#completeAttachments();
      },
    });
    this.#drivers = new PublishedCollection(reader, {
      facts: bus.owner(csiDriver),
      path: kubePath({ group: 'storage.k8s.io', version: 'v1', resource: 'csidrivers' }),
      parse: readDriver,
      changed: () => {
        this.#attachments.updateAll();
        this.#completeAttachments();
      },
    });
    this.#attachments = new Attachments(reader, bus.owner(volumeAttachment), (name) => this.#drivers.get(name));
    bus.reader(clusterNode, {
      changed: ({ value }) => this.#setNode(() => this.#attachments.setNode(value)),
      removed: () => this.#attachments.setNode(undefined),
      complete: () => this.#setNode(() => undefined),
    });
  }

  /** Numbers of polled claims, and of those not read yet. */
  get count(): { readonly all: number; readonly unread: number } {
    return this.#claims.count;
  }

  /** Sets what a pod needs; undefined: it was removed. */
  set(pod: string, demand: Pick<PodDemand, 'claims' | 'csi'> | undefined): void {
    if (demand?.csi === true) this.#drivers.need();
    this.#claims.set(pod, demand?.claims ?? new Map());
  }

  /** All pods of the node are known. */
  podsKnown(): void {
    this.#claims.allKnown();
  }

  stop(): void {
    this.#claims.stop();
    this.#drivers.stop();
    this.#attachments.stop();
  }

  #claimChanged(key: string, claim: VolumeClaim | undefined): void {
    const volume = csiVolumeOf(claim);
    const secrets = volume === undefined ? [] : csiSecretsOf(volume);
    this.#objects.set(`claim/${key}`, new Map(secrets.map((one) => [objectKey(one), one])));
    this.#attachments.setVolume(key, volume);
  }

  #setNode(set: () => void): void {
    set();
    this.#nodeKnown = true;
    this.#completeAttachments();
  }

  /** Without any claim no volume needs the drivers. */
  #completeAttachments(): void {
    if (!this.#claimsComplete || !this.#nodeKnown) return;
    if (this.#drivers.read || this.#claims.count.all === 0) this.#attachments.allKnown();
  }
}
