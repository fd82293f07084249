import type { Cause, CommandResult } from '@kubus/bus';
import { type FindRequest, type FoundImage, type FoundImages, findImage } from '@kubus/contracts';
import type { WorkerDeps } from '../worker/worker-deps.ts';
import type { PodSync } from '../sync/pod-sync.ts';

/** What a search for images uses. */
export type SearchSync = PodSync & Pick<WorkerDeps, 'bus'>;

/** What the runtime has of an image, with the message that said so. */
export interface Found extends FoundImage {
  readonly cause: Cause;
}

/**
 * The images that one round of a sync needs: the runtime is asked once for all of them, while other steps of the round run. An
 * image that the answer does not contain is asked for alone.
 */
export class ImageSearch {
  readonly #sync: SearchSync;
  readonly #request: Omit<FindRequest, 'image' | 'others'>;
  #images: readonly string[];
  #asked: { readonly image: string; readonly answer: Promise<CommandResult<FoundImages>> } | undefined;

  /** @param images as in {@link FindRequest} */
  constructor(sync: SearchSync, request: Omit<FindRequest, 'image' | 'others'>, images: readonly string[]) {
    this.#sync = sync;
    this.#request = request;
    this.#images = images;
  }

  /** Asks for all images, unless that was done already. */
  begin(): void {
    const [image, ...others] = this.#images;
    if (image === undefined || this.#asked !== undefined) return;
    const answer = this.#ask(image, others);
    // A failure is reported where the image is needed.
    answer.catch(() => undefined);
    this.#asked = { image, answer };
  }

  /** What the runtime has of an image. Rejects like a command when it cannot be asked. */
  async find(image: string): Promise<Found> {
    this.begin();
    if (this.#asked?.image === image) return found(await this.#asked.answer);
    const all = await this.#asked?.answer.catch(() => undefined);
    const one = all?.result.others?.[image];
    return all === undefined || one === undefined ? found(await this.#ask(image, [])) : { ...one, cause: all.cause };
  }

  /** The runtime has other images now: the next ones are asked for again, each alone. */
  forget(): void {
    this.#images = [];
    this.#asked = undefined;
  }

  #ask(image: string, others: readonly string[]): Promise<CommandResult<FoundImages>> {
    const { bus, causes, ref, runtime } = this.#sync;
    const request = { ...this.#request, image, ...(others.length > 0 && { others: [...others] }) };
    return bus.call(findImage, ref.uid, request, { causes: [...runtime.cause, ...causes] });
  }
}

function found({ result: { image, mayUse }, cause }: CommandResult<FoundImages>): Found {
  return { mayUse, ...(image !== undefined && { image }), cause };
}
