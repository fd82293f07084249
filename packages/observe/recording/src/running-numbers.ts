import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';

/** One epoch of an instance, with its greatest received sequence number. */
export interface RecordedPublisher {
  readonly id: number;
  readonly service: string;
  last: number | undefined;
  /** When the broker stored its first message; earlier messages were numbered without a broker. */
  since: number | undefined;
  changed: boolean;
}

/** A message with a sequence number. */
interface Numbered {
  readonly number: number;
  readonly at: number;
  readonly stored: number;
}

/** Number of epochs kept in memory; earlier ones are read again when needed. */
const REMEMBERED = 1_000;

const unseen = { last: undefined, since: undefined, changed: false };

function numberOf(value: SQLOutputValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The publishers of a recording and their missing sequence numbers. */
export class RunningNumbers {
  readonly #known = new Map<string, RecordedPublisher>();
  readonly #serviceOf: (source: string) => string;
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #findGap: StatementSync;
  readonly #removeGap: StatementSync;
  readonly #addGap: StatementSync;

  constructor(database: DatabaseSync, serviceOf: (source: string) => string) {
    this.#serviceOf = serviceOf;
    this.#find = database.prepare('SELECT id, service, last, since FROM speakers WHERE source = ? AND epoch = ?');
    this.#insert = database.prepare('INSERT INTO speakers (source, epoch, service) VALUES (?, ?, ?)');
    this.#update = database.prepare('UPDATE speakers SET last = ?, since = ? WHERE id = ?');
    this.#findGap = database.prepare(
      'SELECT first, last FROM gaps WHERE speaker = ? AND first <= ? ORDER BY first DESC LIMIT 1',
    );
    this.#removeGap = database.prepare('DELETE FROM gaps WHERE speaker = ? AND first = ?');
    this.#addGap = database.prepare('INSERT INTO gaps (speaker, first, last) VALUES (?, ?, ?)');
  }

  publisher(source: string, epoch: number): RecordedPublisher {
    const key = `${source}.${epoch}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const row = this.#find.get(source, epoch);
    const service = this.#serviceOf(source);
    const publisher: RecordedPublisher =
      row === undefined
        ? { id: Number(this.#insert.run(source, epoch, service).lastInsertRowid), ...{ service, ...unseen } }
        : {
            id: Number(row['id']),
            service,
            last: numberOf(row['last']),
            since: numberOf(row['since']),
            changed: false,
          };
    this.#known.set(key, publisher);
    return publisher;
  }

  /**
   * A message with this number has arrived. Messages that its publisher numbered before the broker was available are published
   * again afterwards, except superseded ones: between such messages nothing is missing.
   *
   * @param fresh published since the recording began. An older fact is published again when the broker is available again,
   * and says nothing about the numbers between it and the others.
   */
  came(publisher: RecordedPublisher, { number, at, stored }: Numbered, fresh: boolean): void {
    const { id, last } = publisher;
    if (last === undefined || number > last) {
      if (last === undefined && !fresh) return;
      publisher.since ??= stored;
      if (last !== undefined && number > last + 1 && at >= publisher.since) this.#addGap.run(id, last + 1, number - 1);
      publisher.last = number;
      publisher.changed = true;
      return;
    }
    const gap = this.#findGap.get(id, number);
    const [first, end] = [Number(gap?.['first']), Number(gap?.['last'])];
    if (gap === undefined || number > end) return;
    this.#removeGap.run(id, first);
    if (first < number) this.#addGap.run(id, first, number - 1);
    if (number < end) this.#addGap.run(id, number + 1, end);
  }

  /** Must be called at the end of a transaction. */
  save(): void {
    for (const publisher of this.#known.values()) {
      if (!publisher.changed) continue;
      this.#update.run(publisher.last ?? null, publisher.since ?? null, publisher.id);
      publisher.changed = false;
    }
    if (this.#known.size > REMEMBERED) this.#known.clear();
  }

  /** Must be called after a transaction was rolled back. */
  forget(): void {
    this.#known.clear();
  }
}
