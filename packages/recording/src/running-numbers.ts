import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';

/** One life of an instance, with the greatest running number that has been seen of it. */
export interface Speaker {
  readonly id: number;
  readonly service: string;
  last: number | undefined;
  /** When the broker had stored the first message of it; what was published before that was numbered without a broker. */
  since: number | undefined;
  changed: boolean;
}

/** A message with a running number. */
interface Numbered {
  readonly number: number;
  readonly at: number;
  readonly stored: number;
}

/** Lives that are kept in memory; those of before are read again when they are needed. */
const REMEMBERED = 1_000;

const unheard = { last: undefined, since: undefined, changed: false };

function numberOf(value: SQLOutputValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Who speaks in a recording, and which of their running numbers have not come. */
export class RunningNumbers {
  readonly #known = new Map<string, Speaker>();
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

  speaker(source: string, epoch: number): Speaker {
    const key = `${source}.${epoch}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const row = this.#find.get(source, epoch);
    const service = this.#serviceOf(source);
    const speaker: Speaker =
      row === undefined
        ? { id: Number(this.#insert.run(source, epoch, service).lastInsertRowid), ...{ service, ...unheard } }
        : {
            id: Number(row['id']),
            service,
            last: numberOf(row['last']),
            since: numberOf(row['since']),
            changed: false,
          };
    this.#known.set(key, speaker);
    return speaker;
  }

  /**
   * A message with this number has come. What its publisher had numbered before the broker was there is said once more
   * when it is, but for what was overtaken: between such messages nothing is missing.
   *
   * @param fresh published since the recording began. A fact of before is published again when the broker comes back, and
   * says nothing about the numbers between it and the others.
   */
  came(speaker: Speaker, { number, at, stored }: Numbered, fresh: boolean): void {
    const { id, last } = speaker;
    if (last === undefined || number > last) {
      if (last === undefined && !fresh) return;
      speaker.since ??= stored;
      if (last !== undefined && number > last + 1 && at >= speaker.since) this.#addGap.run(id, last + 1, number - 1);
      speaker.last = number;
      speaker.changed = true;
      return;
    }
    const gap = this.#findGap.get(id, number);
    const [first, end] = [Number(gap?.['first']), Number(gap?.['last'])];
    if (gap === undefined || number > end) return;
    this.#removeGap.run(id, first);
    if (first < number) this.#addGap.run(id, first, number - 1);
    if (number < end) this.#addGap.run(id, number + 1, end);
  }

  /** To be called at the end of a transaction. */
  save(): void {
    for (const speaker of this.#known.values()) {
      if (!speaker.changed) continue;
      this.#update.run(speaker.last ?? null, speaker.since ?? null, speaker.id);
      speaker.changed = false;
    }
    if (this.#known.size > REMEMBERED) this.#known.clear();
  }

  /** After a transaction that was undone. */
  forget(): void {
    this.#known.clear();
  }
}
