import { createHash } from 'node:crypto';
import { type PullSecret, type PulledRecord, learnSecrets, recordPull, recordUnknown } from '@kubus/image-manager';
import { type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';

const secretSchema = z.object({
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  hash: z.string().optional(),
});
/** With which credentials an image was pulled. */
export const pulledRecordSchema = z.object({
  imageRef: z.string(),
  names: z.record(z.string(), z.object({ everybody: z.boolean(), secrets: z.array(secretSchema) })),
});
/** An image that is about to be pulled. */
export const pullIntentSchema = z.object({ image: z.string() });

export interface PulledImagesOptions {
  /** Images that are being pulled. What is there after a start was begun by an earlier life. */
  readonly pulling: RecordStore;
  /** Images that were pulled, and with what. */
  readonly pulled: RecordStore;
  readonly logger: Logger;
}

/**
 * Which images this node has pulled, and with whose credentials (KEP-2535). An image counts as pulled by the node from
 * before the runtime is asked for it: a crash in between must not make it one that was there from the beginning.
 */
export class PulledImages {
  readonly #options: PulledImagesOptions;
  readonly #pulling: Set<string>;
  readonly #records: Map<string, PulledRecord>;
  /** Records that were written since the last {@link keepOnly} began. */
  #touched = new Set<string>();

  static async load(options: PulledImagesOptions): Promise<PulledImages> {
    const [pulling, pulled] = await Promise.all([options.pulling.load(), options.pulled.load()]);
    const images = [...pulling.values()].map((value) => pullIntentSchema.safeParse(value).data?.image);
    const records = [...pulled.values()].map((value) => pulledRecordSchema.safeParse(value).data);
    return new PulledImages(
      options,
      images.filter((image) => image !== undefined),
      records.filter((record) => record !== undefined),
    );
  }

  private constructor(options: PulledImagesOptions, images: readonly string[], records: readonly PulledRecord[]) {
    this.#options = options;
    this.#pulling = new Set(images);
    this.#records = new Map(records.map((record) => [record.imageRef, record]));
  }

  /** How much of it is on disk. */
  get counts(): { readonly intents: number; readonly records: number } {
    return { intents: this.#pulling.size, records: this.#records.size };
  }

  get(imageRef: string): PulledRecord | undefined {
    return this.#records.get(imageRef);
  }

  /** Whether a pull of the image has begun and its end is not known. */
  isBegun(image: string): boolean {
    return this.#pulling.has(image);
  }

  /** Pulls that earlier lives have begun and not ended. */
  get begun(): string[] {
    return [...this.#pulling];
  }

  /** The runtime is about to be asked for the image. */
  async begin(image: string): Promise<void> {
    this.#pulling.add(image);
    await this.#options.pulling.put(keyOf(image), { image });
  }

  /** The pull failed. */
  async fail(image: string): Promise<void> {
    this.#pulling.delete(image);
    await this.#options.pulling.delete(keyOf(image));
  }

  /** The pull succeeded. A record that can not be written leaves the pull open: the image stays one of ours. */
  async succeed(
    image: string,
    pulled: { imageRef: string; name: string; secret: PullSecret | undefined },
  ): Promise<void> {
    if (await this.#write(recordPull(this.get(pulled.imageRef), pulled))) await this.fail(image);
  }

  /** The image of a pull that an earlier life began is there. */
  async settle(image: string, imageRef: string): Promise<void> {
    if (await this.#write(recordUnknown(this.get(imageRef), imageRef))) await this.fail(image);
  }

  /** A pod was allowed to use the image. */
  async used(record: PulledRecord, name: string, secrets: readonly PullSecret[]): Promise<void> {
    await this.#write(learnSecrets(record, name, secrets));
  }

  /**
   * Forgets images that are not there any more.
   *
   * @param list reads which are; what is pulled meanwhile is kept.
   */
  async keepOnly<T extends { readonly id: string }>(list: () => Promise<readonly T[]>): Promise<readonly T[]> {
    this.#touched = new Set();
    const images = await list();
    const there = new Set(images.map(({ id }) => id));
    for (const ref of this.#records.keys()) {
      if (there.has(ref) || this.#touched.has(ref)) continue;
      this.#records.delete(ref);
      await this.#options.pulled.delete(keyOf(ref));
    }
    return images;
  }

  async #write(record: PulledRecord): Promise<boolean> {
    const { imageRef } = record;
    this.#touched.add(imageRef);
    if (this.#records.get(imageRef) === record) return true;
    this.#records.set(imageRef, record);
    try {
      await this.#options.pulled.put(keyOf(imageRef), record);
      return true;
    } catch (error) {
      this.#options.logger.error(
        { imageRef, err: toError(error) },
        'the record of a pulled image could not be written',
      );
      return false;
    }
  }
}

/** A file name for any image name. */
function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
