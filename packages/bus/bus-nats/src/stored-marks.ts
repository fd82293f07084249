import { COMPLETE, encodeToken } from '@kubus/contracts';
import type { NatsConnection } from '@nats-io/nats-core';
import { bucketStream, storeSubject } from './names.ts';

/**
 * Notices that the bucket has lost what this process has stored, however that came. Of what is stored, the completion marks stand
 * for all the rest: only their own instance writes them, and they are never removed.
 */
export class StoredMarks {
  readonly #connection: NatsConnection;
  readonly #node: string;
  /** The marks of one instance. */
  readonly #filter: string;
  readonly #stored = new Set<string>();

  constructor({ connection, node, instance }: { connection: NatsConnection; node: string; instance: string }) {
    this.#connection = connection;
    this.#node = node;
    this.#filter = storeSubject(node, `*.fact.*.${COMPLETE}.${encodeToken(instance)}`);
  }

  /** The bucket has this subject from now on. */
  add(subject: string): void {
    if (subject.includes(`.${COMPLETE}.`)) this.#stored.add(subject);
  }

  /**
   * How many marks are missing in the bucket; each is counted once.
   *
   * @throws the error of the request when the broker does not answer.
   */
  async takeLost(timeoutMs: number): Promise<number> {
    const expected = [...this.#stored];
    if (expected.length === 0) return 0;
    const answer = await this.#connection.request(
      `$JS.API.STREAM.INFO.${bucketStream(this.#node)}`,
      JSON.stringify({ subjects_filter: this.#filter }),
      { timeout: timeoutMs },
    );
    const { state } = answer.json<{ state?: { subjects?: Readonly<Record<string, number>> } }>();
    // Without a state there is no bucket: the connection is followed elsewhere.
    if (state === undefined) return 0;
    const lost = expected.filter((subject) => state.subjects?.[subject] === undefined);
    for (const subject of lost) this.#stored.delete(subject);
    return lost.length;
  }
}
