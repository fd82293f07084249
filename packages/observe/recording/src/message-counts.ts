import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A message that another one names as its first cause. */
export interface ReceivedMessage {
  readonly seq: number;
  readonly at: number;
  readonly type: number;
}

/**
 * Number of digits stored of times on the bus: quantiles are exact to half a percent, and a recording has few distinct
 * values.
 */
const DIGITS = 3;

/**
 * Counts the messages that each service has published, and how long messages were on the bus until a service that waited for
 * them received them: a message counts once for each service, with the first effect that names it.
 */
export class MessageCounts {
  readonly #published = new Map<string, number>();
  readonly #bus = new Map<string, number>();
  readonly #addPublished: StatementSync;
  readonly #addReceipt: StatementSync;
  readonly #dropReceipts: StatementSync;
  readonly #addBus: StatementSync;

  constructor(database: DatabaseSync) {
    const counted = 'ON CONFLICT DO UPDATE SET messages = messages + excluded.messages';
    this.#addPublished = database.prepare(`INSERT INTO said VALUES (?, ?, ?) ${counted}`);
    this.#addReceipt = database.prepare('INSERT OR IGNORE INTO hearings VALUES (?, ?, ?)');
    this.#dropReceipts = database.prepare('DELETE FROM hearings WHERE cause = ? RETURNING service, us');
    this.#addBus = database.prepare(`INSERT INTO bus VALUES (?, ?, ?, ?) ${counted}`);
  }

  countPublished(service: string, type: number, messages = 1): void {
    add(this.#published, `${type} ${service}`, messages);
  }

  /** @param receivedAt when the service received the message, in milliseconds since the Unix epoch. */
  countReceived(cause: ReceivedMessage, service: string, receivedAt: number): void {
    const us = Number((Math.max(0, receivedAt - cause.at) * 1000).toPrecision(DIGITS));
    const whole = Math.round(us);
    if (this.#addReceipt.run(cause.seq, service, whole).changes === 0) return;
    add(this.#bus, `${cause.type} ${whole} ${service}`, 1);
  }

  /** Removes a message and its times on the bus. */
  drop(cause: Pick<ReceivedMessage, 'seq' | 'type'>): void {
    for (const { service, us } of this.#dropReceipts.all(cause.seq)) {
      add(this.#bus, `${cause.type} ${Number(us)} ${String(service)}`, -1);
    }
  }

  /** Must be called at the end of a transaction. */
  save(): void {
    for (const [key, messages] of this.#published) {
      const [type, service = ''] = key.split(' ');
      this.#addPublished.run(service, Number(type), messages);
    }
    for (const [key, messages] of this.#bus) {
      const [type, us, service = ''] = key.split(' ');
      this.#addBus.run(Number(type), service, Number(us), messages);
    }
    this.forget();
  }

  /** Must be called after a transaction was rolled back. */
  forget(): void {
    this.#published.clear();
    this.#bus.clear();
  }
}

function add(counts: Map<string, number>, key: string, messages: number): void {
  counts.set(key, (counts.get(key) ?? 0) + messages);
}
