import { COMPLETE } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { STREAMS_API, bucketStream, isCompletion } from './names.ts';

/** Each so many times all keys are compared; in between only the completion marks, which are few, and which an emptied bucket lacks, too. */
const ALL_EVERY = 4;

interface StreamState {
  readonly state?: { readonly subjects?: Readonly<Record<string, number>> };
}

/** Notices that the bucket has lost what this process has stored, however that came. */
export class StoredKeys {
  readonly #connection: NatsConnection;
  readonly #node: string;
  readonly #stored = new Set<string>();
  #looks = 0;

  constructor({ connection, node }: { connection: NatsConnection; node: string }) {
    this.#connection = connection;
    this.#node = node;
  }

  /** The bucket has this subject from now on; the mark of a removed fact may be purged at any time. */
  set(subject: string, isRemoved: boolean): void {
    if (isRemoved) this.#stored.delete(subject);
    else this.#stored.add(subject);
  }

  /**
   * How many keys are missing in the bucket; each is counted once.
   *
   * @throws the error of the request when the broker does not answer.
   */
  async takeLost(timeoutMs: number): Promise<number> {
    const isFull = ++this.#looks % ALL_EVERY === 0;
    const groups = new Map<string, string[]>();
    for (const subject of this.#stored) {
      if (!isFull && !isCompletion(subject)) continue;
      const filter = isFull
        ? `${factOf(subject)}.>`
        : `$KV.*.*.fact.*.${subject.slice(subject.indexOf(`${COMPLETE}.`))}`;
      const group = groups.get(filter);
      if (group === undefined) groups.set(filter, [subject]);
      else group.push(subject);
    }
    let lost = 0;
    for (const [filter, expected] of groups) lost += await this.#takeLostOf(filter, expected, timeoutMs);
    return lost;
  }

  async #takeLostOf(filter: string, expected: readonly string[], timeoutMs: number): Promise<number> {
    const answer = await this.#connection.request(
      `${STREAMS_API}.STREAM.INFO.${bucketStream(this.#node)}`,
      JSON.stringify({ subjects_filter: filter }),
      { timeout: timeoutMs },
    );
    const { state } = answer.json<StreamState>();
    // Without a state there is no bucket: the connection is followed elsewhere.
    if (state === undefined) return 0;
    // What was removed while the broker answered is not lost.
    const lost = expected.filter((subject) => state.subjects?.[subject] === undefined && this.#stored.has(subject));
    for (const subject of lost) this.#stored.delete(subject);
    return lost.length;
  }
}

/** `$KV.<bucket>.<area>.fact.<name>` of a stored subject. */
function factOf(subject: string): string {
  return subject.split('.').slice(0, 5).join('.');
}
