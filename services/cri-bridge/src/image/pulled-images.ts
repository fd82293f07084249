import { createHash } from 'node:crypto';
import { type PullSecret, type PulledRecord, learnSecrets, recordPull, recordUnknown } from '@kubus/images';
import { type Logger, type RecordStore, toError } from '@kubus/ports';
import * as z from 'zod';

const secretSchema = z.object({
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  hash: z.string().optional(),
});
/** The credentials that an image was pulled with. */
export const pulledRecordSchema = z.object({
  imageRef: z.string(),
  names: z.record(z.string(), z.object({ everybody: z.boolean(), secrets: z.array(secretSchema) })),
});
/** An image that is about to be pulled. */
export const pullIntentSchema = z.object({ image: z.string() });

export interface PulledImagesOptions {
  /** Intents of running pulls. Those found at the start are of earlier processes. */
  readonly pulling: RecordStore;
  /** Pulled images, and their credentials. */
  readonly pulled: RecordStore;
  readonly logger: Logger;
}

/**
 * Which images this node has pulled, and with which credentials (KEP-2535). An image counts as pulled by the node from
 * before the pull is requested, so that after a crash in between it does not count as preloaded.
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

  /** Numbers of records on disk. */
  get counts(): { readonly intents: number; readonly records: number } {
    return { intents: this.#pulling.size, records: this.#records.size };
  }

  get(imageRef: string): PulledRecord | undefined {
    return this.#records.get(imageRef);
  }

  /** Whether a pull of the image was started and its result is unknown. */
  isStarted(image: string): boolean {
    return this.#pulling.has(image);
  }

  /** Images of pulls that earlier processes started and did not finish. */
  get started(): string[] {
    return [...this.#pulling];
  }

  /** Called before the runtime is asked to pull the image. */
  async begin(image: string): Promise<void> {
    this.#pulling.add(image);
    await this.#options.pulling.put(keyOf(image), { image });
  }

  /** The pull failed. */
  async fail(image: string): Promise<void> {
    this.#pulling.delete(image);
    await this.#options.pulling.delete(keyOf(image));
  }

  /** The pull succeeded. A record that cannot be written leaves the intent, so the image still counts as pulled. */
  async succeed(
    image: string,
    pulled: { imageRef: string; name: string; secret: PullSecret | undefined },
  ): Promise<void> {
    if (await this.#write(recordPull(this.get(pulled.imageRef), pulled))) await this.fail(image);
  }

  /** The image of a pull that an earlier process started exists. */
  async settle(image: string, imageRef: string): Promise<void> {
    if (await this.#write(recordUnknown(this.get(imageRef), imageRef))) await this.fail(image);
  }

  /** A pod was allowed to use the image. */
  async used(record: PulledRecord, name: string, secrets: readonly PullSecret[]): Promise<void> {
    await this.#write(learnSecrets(record, name, secrets));
  }

  /**
   * Forgets images that no longer exist.
   *
   * @param list reads the existing ones; images pulled meanwhile are kept
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
      this.#options.logger.error({ imageRef, err: toError(error) }, 'cannot write the record of a pulled image');
      return false;
    }
  }
}

/** A file name for any image name. */
function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
