import type { Cancel, Clock } from '@kubus/ports';
import { type LimitedFolder, sizeExcess } from '@kubus/volume';
import type { VolumeHost } from '../ports.ts';

export interface SizeWatchOptions {
  readonly clock: Clock;
  readonly host: Pick<VolumeHost, 'usage'>;
  /** Called when a volume exceeds its limit, with the message of the eviction. */
  readonly exceeded: (message: string) => void;
}

/** Interval between measurements, in milliseconds (behaviour:eviction, loop). */
const EVERY_MS = 10_000;
/** Measuring takes at most one part in this many of the time. */
const SHARE = 20;

/** Measures a pod's volumes periodically, until one is too large. */
export class SizeWatch {
  readonly #options: SizeWatchOptions;
  #folders: readonly LimitedFolder[] = [];
  #looking = false;
  #timer: Cancel | undefined;

  constructor(options: SizeWatchOptions) {
    this.#options = options;
  }

  /** Measures these volumes from now on; none: stops. */
  watch(folders: readonly LimitedFolder[]): void {
    this.#folders = folders;
    if (folders.length === 0) this.#stop();
    else if (this.#timer === undefined && !this.#looking) this.#lookAfter(EVERY_MS);
  }

  #stop(): void {
    this.#timer?.();
    this.#timer = undefined;
  }

  #lookAfter(ms: number): void {
    this.#timer = this.#options.clock.after(ms, () => {
      this.#timer = undefined;
      this.#looking = true;
      void this.#look().then((nextMs) => {
        this.#looking = false;
        if (nextMs !== undefined && this.#folders.length > 0) this.#lookAfter(nextMs);
      });
    });
  }

  /** Milliseconds until the next measurement; undefined when none is needed. */
  async #look(): Promise<number | undefined> {
    const { clock, host, exceeded } = this.#options;
    const began = clock.now();
    for (const folder of this.#folders) {
      const bytes = await host.usage(folder);
      const message = bytes === undefined ? undefined : sizeExcess(folder, bytes);
      // The pod may have ended meanwhile.
      if (message === undefined || !this.#folders.includes(folder)) continue;
      this.#folders = [];
      exceeded(message);
      return undefined;
    }
    return Math.max(EVERY_MS, (clock.now() - began) * SHARE);
  }
}
