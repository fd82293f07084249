import type { Bus, FactOwner } from '@kubus/bus';
import { runtimeImages } from '@kubus/contracts';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import type { Image, ListImagesResponse } from '@kubus/proto/cri';
import type { Runtime } from '../runtime/runtime.ts';

/** Longest age of the published list, in milliseconds: other programs may pull and remove images too. */
const EVERY_MS = 30_000;
/** Changes within this time, such as the pulls of one pod, are read together, in milliseconds. */
const SOON_MS = 1_000;

type Payload = (typeof runtimeImages)['payload']['_output'];

/** Publishes which images the runtime has. */
export class ImageList {
  readonly #runtime: Runtime;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #fact: FactOwner<Payload>;
  readonly #key: string;
  #published = '';
  #timer: Cancel | undefined;
  #soon = false;
  #stopped = false;

  constructor({ runtime, bus, clock, logger }: { runtime: Runtime; bus: Bus; clock: Clock; logger: Logger }) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#logger = logger;
    this.#fact = bus.owner(runtimeImages);
    this.#key = bus.node;
  }

  /**
   * Wraps the runtime for the other parts of the bridge: the image lists that they read are published, so that nothing
   * is read twice.
   */
  observed(runtime: Runtime): Runtime {
    return {
      call: async (method, request, options) => {
        const answer = await runtime.call(method, request, options);
        if (method === 'PullImage' || method === 'RemoveImage') this.#changed();
        if (isWholeList(method, request)) this.#observe((answer as ListImagesResponse).images ?? []);
        return answer;
      },
      get connection() {
        return runtime.connection;
      },
      watchConnection: (listener) => runtime.watchConnection(listener),
      containerEvents: (listener) => runtime.containerEvents(listener),
    };
  }

  /** To be called once the runtime answers. */
  start(): void {
    void this.#read();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
  }

  /** An image was pulled or removed. */
  #changed(): void {
    if (this.#soon || this.#timer === undefined) return;
    this.#soon = true;
    this.#after(SOON_MS);
  }

  /** Publishes a list that was just read. */
  #observe(images: readonly Image[]): void {
    const value = { images: images.map(listed) };
    const text = JSON.stringify(value);
    if (text !== this.#published) this.#fact.put(this.#key, value);
    this.#published = text;
    if (!this.#soon && this.#timer !== undefined) this.#after(EVERY_MS);
  }

  async #read(): Promise<void> {
    this.#soon = false;
    try {
      this.#observe((await this.#runtime.call('ListImages', {})).images ?? []);
    } catch (error) {
      this.#logger.debug({ err: toError(error) }, 'cannot list images');
    }
    this.#after(EVERY_MS);
  }

  #after(ms: number): void {
    this.#timer?.();
    if (!this.#stopped) this.#timer = this.#clock.after(ms, () => void this.#read());
  }
}

/** A filtered list is not the whole list. */
function isWholeList(method: string, request: object): boolean {
  return method === 'ListImages' && Object.keys(request).length === 0;
}

/** Names by digest first, as a Node object lists them. */
function listed({ repoDigests = [], repoTags = [], size = '0' }: Image): Payload['images'][number] {
  return { names: [...repoDigests, ...repoTags], sizeBytes: Number(size) };
}
