import type { Bus } from '@kubus/bus';
import { type ClaimExpansion, claimExpansion, claimKey } from '@kubus/contracts';
import { KubeError, type KubeRequester, kubePath } from '@kubus/kube';
import { claimSchema, expansionPatch, failureScope, retryMs } from '@kubus/pod-status';
import { type Cancel, type Clock, type Ids, type Logger, toError } from '@kubus/ports';

export interface ClaimWriterOptions {
  readonly bus: Bus;
  readonly client: KubeRequester;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'fraction'>;
  readonly logger: Logger;
}

/** An expanded volume, and the state of the write to its claim. */
interface Task {
  expansion: ClaimExpansion;
  failures: number;
  running: boolean;
  timer: Cancel | undefined;
}

/**
 * Writes into claims' statuses that their volumes were expanded on this node. Each claim is read first, since the
 * node's fact may be older: it is published again after each restart.
 */
export class ClaimWriter {
  readonly #options: ClaimWriterOptions;
  /** By claim: what is not written yet. */
  readonly #tasks = new Map<string, Task>();
  readonly #ending = new AbortController();

  constructor(options: ClaimWriterOptions) {
    this.#options = options;
    options.bus.reader(claimExpansion, {
      changed: ({ value }) => this.#set(value),
      removed: ({ value }) => this.#done(claimKey(value)),
    });
  }

  stop(): void {
    this.#ending.abort();
    for (const { timer } of this.#tasks.values()) timer?.();
  }

  #set(expansion: ClaimExpansion): void {
    const key = claimKey(expansion);
    const task = this.#tasks.get(key) ?? { expansion, failures: 0, running: false, timer: undefined };
    this.#tasks.set(key, task);
    task.expansion = expansion;
    task.timer?.();
    if (!task.running) void this.#run(key, task);
  }

  #done(key: string): void {
    this.#tasks.get(key)?.timer?.();
    this.#tasks.delete(key);
  }

  async #run(key: string, task: Task): Promise<void> {
    const { clock, ids, logger } = this.#options;
    const { expansion } = task;
    task.running = true;
    let waitMs: number | undefined;
    try {
      await this.#write(expansion);
      task.failures = 0;
    } catch (error) {
      const { message } = toError(error);
      const scope = error instanceof KubeError ? failureScope(error, false) : 'object';
      task.failures += 1;
      waitMs = retryMs(scope, task.failures, ids.fraction());
      if (!this.#ending.signal.aborted) {
        logger.warn({ claim: key, err: message, waitMs }, 'cannot write the size of a claim');
      }
    }
    task.running = false;
    // The size may have changed meanwhile, or the fact was removed.
    if (this.#ending.signal.aborted || this.#tasks.get(key) !== task) return;
    if (task.expansion !== expansion) void this.#run(key, task);
    else if (waitMs === undefined) this.#done(key);
    else task.timer = clock.after(waitMs, () => void this.#run(key, task));
  }

  async #write(expansion: ClaimExpansion): Promise<void> {
    const { client } = this.#options;
    const { namespace, name } = expansion;
    const claims = { version: 'v1', namespace, resource: 'persistentvolumeclaims', name };
    const { signal } = this.#ending;
    try {
      const claim = claimSchema.parse(await client.request({ method: 'GET', path: kubePath(claims), signal }));
      const body = expansionPatch(claim, expansion);
      const path = kubePath({ ...claims, subresource: 'status' });
      if (body !== undefined) await client.request({ method: 'PATCH', path, patch: 'strategic', body, signal });
    } catch (error) {
      // The claim was deleted.
      if (!(error instanceof KubeError && error.status === 404)) throw error;
    }
  }
}
