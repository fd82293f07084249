import { joinErrors, repositoryOf, rpcErrorText } from '@kubus/contracts';
import {
  type DiskSpace,
  type ImageGcPolicy,
  type ImageRecords,
  diskUsage,
  forSpace,
  giveImage,
  isOff,
  notEnoughFreed,
  notRemovedForAge,
  notRemovedForSpace,
  observeImages,
  tooOld,
} from '@kubus/images';
import { type Cancel, type Clock, KubusError, type Logger, toError } from '@kubus/ports';
import type { Image } from '@kubus/proto/cri';
import type { NodeEvents } from '@kubus/service-kit';
import { unlessRemoved } from '../pod/pod-reader.ts';
import type { PulledImages } from './pulled-images.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { toReplyError } from '../runtime/reply-error.ts';

/** Milliseconds between two runs, as in the reference. */
const EVERY_MS = 300_000;

/** Thrown when a run has failed, at least in part. */
class CollectionError extends KubusError {}

export interface ImageCollectorOptions {
  readonly runtime: Runtime;
  /** Where the node's Kubernetes events go. */
  readonly nodeEvents: NodeEvents;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pulled: PulledImages;
  readonly policy: ImageGcPolicy;
  /** Names of images that are never removed: those that the runtime needs and does not pin itself. */
  readonly keep: readonly string[];
  /** Space of the file system that a path lies on. */
  readonly space: (path: string) => Promise<DiskSpace>;
}

/** Removes images that have been unused for too long, and, when space is short, those unused for the longest time (behaviour:images). */
export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #upSince: number;
  readonly #removed = { age: 0, space: 0 };
  #records: ImageRecords = new Map();
  #failed = false;
  #timer: Cancel | undefined;
  #stopped = false;

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
    this.#upSince = options.clock.now();
  }

  /** Images removed since the start, by reason. */
  get removed(): { readonly age: number; readonly space: number } {
    return this.#removed;
  }

  start(): void {
    if (!isOff(this.#options.policy)) void this.#round();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  /** A pod was allowed to use the image: its container may not exist yet. */
  given(id: string): void {
    this.#records = giveImage(this.#records, id, this.#options.clock.now());
  }

  /** Removes all that no container uses and that are old enough, whatever space there is. Rejects when some could not be removed. */
  async free(): Promise<{ readonly images: number; readonly bytes: number }> {
    await this.#observe();
    const { clock, policy } = this.#options;
    const now = clock.now();
    const errors: string[] = [];
    const freed = { images: 0, bytes: 0 };
    for (const { id, bytes } of forSpace(this.#records, policy, now)) {
      if (!(await this.#remove(id, 'space', now, errors))) continue;
      freed.images += 1;
      freed.bytes += bytes;
    }
    if (errors.length === 0) return freed;
    // The reference asks for the greatest number of bytes that there is.
    const wanted = Number.MAX_SAFE_INTEGER;
    throw new CollectionError('not-removed', notRemovedForSpace({ wanted, freed: freed.bytes }, errors));
  }

  async #round(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#observe();
      await this.#collect();
      this.#failed = false;
    } catch (error) {
      logger.warn({ err: toError(error) }, 'image garbage collection failed');
      // The first failure may be accidental: the runtime may just be starting.
      if (this.#failed) this.#reportEvent('ImageGCFailed', textOf(error));
      this.#failed = true;
    }
    if (!this.#stopped) this.#timer = clock.after(EVERY_MS, () => void this.#round());
  }

  async #observe(): Promise<void> {
    const { runtime, clock, pulled } = this.#options;
    const images = await pulled.keepOnly(async () => {
      const listed = (await runtime.call('ListImages', {})).images ?? [];
      return listed.map((image) => ({ ...image, id: image.id ?? '' }));
    });
    const { containers = [] } = await runtime.call('ListContainers', {});
    const own = containers.flatMap(({ imageId, imageRef, image }) => [imageId, imageRef, image?.image]);
    const names = new Set(own);
    // Image volumes are not in the list of containers.
    for (const { id = '' } of containers) for (const name of await this.#mountedImages(id)) names.add(name);
    const seen = images.map((image) => ({ ...image, bytes: Number(image.size ?? 0), pinned: this.#isPinned(image) }));
    const inUse = images.filter((image) => namesOf(image).some((name) => names.has(name))).map(({ id }) => id);
    this.#records = observeImages(this.#records, { images: seen, inUse: new Set(inUse), now: clock.now() });
  }

  /** The images that a container has as volumes. */
  async #mountedImages(containerId: string): Promise<(string | undefined)[]> {
    const found = await unlessRemoved(this.#options.runtime.call('ContainerStatus', { containerId }));
    return (found?.status?.mounts ?? []).map(({ image }) => image?.image);
  }

  async #collect(): Promise<void> {
    const { clock, policy } = this.#options;
    const now = clock.now();
    const old: string[] = [];
    for (const id of tooOld(this.#records, policy, { now, upSince: this.#upSince })) {
      await this.#remove(id, 'age', now, old);
    }
    const failures = old.length > 0 ? [notRemovedForAge(policy, old)] : [];
    const space = await this.#space();
    const usage = diskUsage(space, policy);
    if (usage === undefined) {
      const message = 'invalid capacity 0 on image filesystem';
      this.#reportEvent('InvalidDiskCapacity', message);
      throw new CollectionError('no-capacity', message);
    }
    const { bytesToFree: wanted } = usage;
    const errors: string[] = [];
    let freed = 0;
    for (const { id, bytes } of wanted === 0 ? [] : forSpace(this.#records, policy, now)) {
      if (freed >= wanted) break;
      if (await this.#remove(id, 'space', now, errors)) freed += bytes;
    }
    if (errors.length > 0) failures.push(notRemovedForSpace({ wanted, freed }, errors));
    if (failures.length > 0) throw new CollectionError('not-removed', joinErrors(failures));
    if (freed >= wanted) return;
    const message = notEnoughFreed(usage.percent, space.capacity, freed);
    this.#reportEvent('FreeDiskSpaceFailed', message);
    throw new CollectionError('not-enough', message);
  }

  /** False when it stays: a pod was allowed to use it since `now`, or the runtime refused. */
  async #remove(id: string, why: 'age' | 'space', now: number, errors: string[]): Promise<boolean> {
    const record = this.#records.get(id);
    if (record === undefined || record.lastGivenAt >= now) return false;
    this.#options.logger.info({ image: id, bytes: record.bytes, why }, 'removing an image');
    try {
      await this.#options.runtime.call('RemoveImage', { image: { image: id } });
    } catch (error) {
      errors.push(textOf(error));
      return false;
    }
    this.#removed[why] += 1;
    const left = new Map(this.#records);
    left.delete(id);
    this.#records = left;
    return true;
  }

  async #space(): Promise<DiskSpace> {
    const { imageFilesystems: [filesystem] = [] } = await this.#options.runtime.call('ImageFsInfo', {});
    const mountpoint = filesystem?.fsId?.mountpoint ?? '';
    if (mountpoint === '') throw new CollectionError('no-file-system', 'the runtime reports no image file system');
    return this.#options.space(mountpoint);
  }

  #isPinned(image: Image): boolean {
    const keep = this.#options.keep.map(inFull);
    return image.pinned === true || namesOf(image).some((name) => keep.includes(inFull(name)));
  }

  #reportEvent(reason: string, message: string): void {
    this.#options.nodeEvents.record({ type: 'Warning', reason, message }, []);
  }
}

function textOf(error: unknown): string {
  return rpcErrorText(toReplyError(error));
}

function namesOf({ id = '', repoTags = [], repoDigests = [] }: Image): string[] {
  return [id, ...repoTags, ...repoDigests];
}

/** A name as the runtime lists it, with the default registry, namespace and tag. */
function inFull(name: string): string {
  const bare = repositoryOf(name);
  const tag = /[:@][^/]*$/.exec(name)?.[0] ?? ':latest';
  return bare === undefined ? name : bare + tag;
}
