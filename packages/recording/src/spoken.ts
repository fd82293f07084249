import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A message that another one names as its first cause. */
export interface HeardMessage {
  readonly seq: number;
  readonly at: number;
  readonly type: number;
}

/** Digits of times on the bus that are kept: quantiles are exact to half a percent, and a recording has few different ones. */
const DIGITS = 3;

/**
 * Counts what each service has said, and how long messages were on the bus until a service that waited for them had them:
 * a message counts once for each service, when that first told of it.
 */
export class Spoken {
  readonly #said = new Map<string, number>();
  readonly #bus = new Map<string, number>();
  readonly #addSaid: StatementSync;
  readonly #addHearing: StatementSync;
  readonly #dropHearings: StatementSync;
  readonly #addBus: StatementSync;

  constructor(database: DatabaseSync) {
    const counted = 'ON CONFLICT DO UPDATE SET messages = messages + excluded.messages';
    this.#addSaid = database.prepare(`INSERT INTO said VALUES (?, ?, ?) ${counted}`);
    this.#addHearing = database.prepare('INSERT OR IGNORE INTO hearings VALUES (?, ?, ?)');
    this.#dropHearings = database.prepare('DELETE FROM hearings WHERE cause = ? RETURNING service, us');
    this.#addBus = database.prepare(`INSERT INTO bus VALUES (?, ?, ?, ?) ${counted}`);
  }

  say(service: string, type: number, messages = 1): void {
    add(this.#said, `${type} ${service}`, messages);
  }

  /** @param heard when the service had the message, in milliseconds since the Unix epoch. */
  hear(cause: HeardMessage, service: string, heard: number): void {
    const us = Number((Math.max(0, heard - cause.at) * 1000).toPrecision(DIGITS));
    const whole = Math.round(us);
    if (this.#addHearing.run(cause.seq, service, whole).changes === 0) return;
    add(this.#bus, `${cause.type} ${whole} ${service}`, 1);
  }

  /** A message goes, and with it what was heard of it. */
  drop(cause: Pick<HeardMessage, 'seq' | 'type'>): void {
    for (const { service, us } of this.#dropHearings.all(cause.seq)) {
      add(this.#bus, `${cause.type} ${Number(us)} ${String(service)}`, -1);
    }
  }

  /** To be called at the end of a transaction. */
  save(): void {
    for (const [key, messages] of this.#said) {
      const [type, service = ''] = key.split(' ');
      this.#addSaid.run(service, Number(type), messages);
    }
    for (const [key, messages] of this.#bus) {
      const [type, us, service = ''] = key.split(' ');
      this.#addBus.run(Number(type), service, Number(us), messages);
    }
    this.forget();
  }

  /** After a transaction that was undone. */
  forget(): void {
    this.#said.clear();
    this.#bus.clear();
  }
}

function add(counts: Map<string, number>, key: string, messages: number): void {
  counts.set(key, (counts.get(key) ?? 0) + messages);
}
