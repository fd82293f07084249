import type { Cause, FactOwner } from '@kubus/bus';
import { type Logger, toError } from '@kubus/ports';
import type { SharedRecords } from '@kubus/service-kit';

/** What a worker has published or written for its pod under this instance's name. */
export class ReleasedPods {
  readonly #facts: readonly FactOwner<unknown>[];
  readonly #records: SharedRecords;
  readonly #logger: Logger;
  /** Pods that another instance owns: the term under which this one owned it, and when its last record is written. */
  readonly #released = new Map<string, { readonly term: number; readonly written: Promise<void> }>();

  constructor(options: { facts: readonly FactOwner<unknown>[]; records: SharedRecords; logger: Logger }) {
    this.#facts = options.facts;
    this.#records = options.records;
    this.#logger = options.logger;
  }

  /** Another instance owns the pod. @param released.written resolves when the worker's last record is written */
  release(uid: string, released: { readonly term: number; readonly written: Promise<void> }): void {
    this.#released.set(uid, released);
    for (const facts of this.#facts) facts.release(uid);
  }

  /** This instance owns the pod again. */
  regain(uid: string): void {
    this.#released.delete(uid);
  }

  /** A pod that another instance took over has finished. Removes what this one may have published and written late. */
  end(uid: string, cause?: Cause): void {
    const released = this.#released.get(uid);
    if (released === undefined) return;
    const { term, written } = released;
    this.#released.delete(uid);
    this.removeFacts(uid, { term, cause });
    written
      .then(() => this.#records.delete(uid, term))
      .catch((error: unknown) => {
        this.#logger.debug({ podUid: uid, err: toError(error) }, 'the pod record belongs to another instance');
      });
  }

  removeFacts(uid: string, { term, cause }: { term: number; cause: Cause | undefined }): void {
    for (const facts of this.#facts) {
      facts.claim(uid, term);
      facts.remove(uid, { pod: uid, ...(cause !== undefined && { causes: [cause] }) });
      facts.release(uid);
    }
  }
}
