import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import { type Cancel, type Clock, type Logger, toError } from '@kubus/ports';
import { retryWait } from '@kubus/volume';

/** How long a driver may be away before pods are no longer to be scheduled to its devices, in milliseconds, as in the reference kubelet. */
const GRACE_MS = 30_000;

export interface SliceWiperOptions {
  readonly client: KubeRequester;
  /** The name of the Node object. */
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Removes the ResourceSlices of drivers that are not on the node (behaviour:resource-managers, DRA): of all drivers when the node agent starts,
 * since none has registered yet, and later of each that stays away. A driver that is there publishes its own again.
 */
export class SliceWiper {
  readonly #options: SliceWiperOptions;
  /** By driver; empty: all. What is waited for. */
  readonly #waiting = new Map<string, Cancel>();
  readonly #away = new Set<string>();
  readonly #ended = new AbortController();

  constructor(options: SliceWiperOptions) {
    this.#options = options;
    void this.#wipe('', 1);
  }

  /** The driver can be called. */
  present(driver: string): void {
    this.#away.delete(driver);
    this.#waiting.get(driver)?.();
    this.#waiting.delete(driver);
  }

  /** The driver cannot be called. The grace begins when it is said first, and again when it is said after the slices were removed. */
  gone(driver: string): void {
    this.#away.add(driver);
    if (!this.#waiting.has(driver)) this.#later(driver, GRACE_MS, 1);
  }

  stop(): void {
    this.#ended.abort();
    for (const cancel of this.#waiting.values()) cancel();
  }

  #later(driver: string, ms: number, attempt: number): void {
    this.#waiting.get(driver)?.();
    const cancel = this.#options.clock.after(ms, () => {
      this.#waiting.delete(driver);
      void this.#wipe(driver, attempt);
    });
    this.#waiting.set(driver, cancel);
  }

  async #wipe(driver: string, attempt: number): Promise<void> {
    const { client, node, logger } = this.#options;
    const { signal } = this.#ended;
    const selected = [`spec.nodeName=${node}`, ...(driver === '' ? [] : [`spec.driver=${driver}`])];
    try {
      const path = kubePath({ group: 'resource.k8s.io', version: 'v1', resource: 'resourceslices' });
      await client.request({ method: 'DELETE', path, query: { fieldSelector: selected.join(',') }, signal });
    } catch (error) {
      // A server without this kind has none of them.
      if (signal.aborted || (error instanceof KubeError && error.status === 404)) return;
      logger.debug({ driver, err: toError(error) }, 'the resource slices of a driver cannot be removed yet');
      if (driver === '' || this.#away.has(driver)) this.#later(driver, retryWait(attempt), attempt + 1);
    }
  }
}
