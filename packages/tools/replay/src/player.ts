import { HEADER, type WireMessage } from '@kubus/bus';
import type { Arrival, Effect, Item, Tape } from '@kubus/journal';
import { isDeepEqual } from '@kubus/pod';
import type { Cancel } from '@kubus/ports';
import { changesBetween, timeHeaders } from './compare.ts';
import { type Journal, describeItem, isInput } from './journal.ts';
import type { Change } from './report.ts';

/** Where the code did something else than the journal says. */
export interface Divergence {
  readonly what: string;
  /** Index of the next journal entry. */
  readonly at: number;
  readonly expected?: WireMessage | undefined;
  readonly got?: WireMessage | undefined;
  readonly changes: readonly Change[];
}

/** What {@link Player} needs. */
export interface PlayerOptions {
  readonly journal: Journal;
  /** A message that the life published, by its sequence number; undefined when it is not in the recording. */
  readonly published: (number: number) => WireMessage | undefined;
}

/**
 * Plays a journal back: each use of a port by the code has to match the next entry. After the first mismatch the code may
 * still end its
 * turn, which shows the message that it publishes instead of the recorded one.
 */
export class Player implements Tape {
  readonly #options: PlayerOptions;
  readonly #handlers = new Map<number, (arrival: Arrival) => void>();
  readonly #opened: string[] = ['its start'];
  /** Numbers of the messages that were published as recorded. */
  readonly equal = new Set<number>();
  readonly unrecorded = new Set<number>();
  /** Index of the next entry. */
  at = 0;
  #micros = 0;
  #divergence: Divergence | undefined;
  /** The messages published in this turn since the divergence. */
  readonly #instead: WireMessage[] = [];

  constructor(options: PlayerOptions) {
    this.#options = options;
  }

  /** The divergence, if any; read it between two turns. */
  get divergence(): Divergence | undefined {
    return this.#divergence === undefined ? undefined : this.#withMessages(this.#divergence);
  }

  /** What the code has opened under a number, for messages. */
  opened(number: number): string {
    return this.#opened[number] ?? `something unknown (${number})`;
  }

  now(): number {
    const item = this.#next();
    if (typeof item === 'number') {
      this.at += 1;
      this.#micros += item;
    } else this.#diverge('reads the clock', item);
    return this.#micros / 1000;
  }

  value<T>(real: () => T): T {
    const item = this.#next();
    if (Array.isArray(item) && item[0] === 'value') {
      this.at += 1;
      return item[1] as T;
    }
    this.#diverge('reads a value', item);
    return real();
  }

  do(effect: Effect): void {
    this.#match(effect);
    const item = this.#next();
    if (!Array.isArray(item) || item[0] !== 'threw') return;
    this.at += 1;
    throw new Error(item[1]);
  }

  open(effect: Effect, _real: unknown, handle: (arrival: Arrival) => void): Cancel {
    const number =
      this.#opened.push('out' in effect ? effect.out.subject : `${effect.what} ${JSON.stringify(effect.detail)}`) - 1;
    this.#handlers.set(number, handle);
    this.#match(effect);
    return () => {
      this.#handlers.delete(number);
    };
  }

  /** Passes an input to the code, which begins a turn. */
  arrive(number: number, arrival: Arrival): void {
    const handler = this.#handlers.get(number);
    if (handler !== undefined) handler(arrival);
    else this.diverge(`does not wait for ${this.opened(number)} any more`, this.at - 1);
  }

  /** Must be called at the end of each turn: checks that the code has done everything that the life did in it. */
  endTurn(): void {
    const item = this.#next();
    if (item !== undefined && !isInput(item))
      this.diverge(`does nothing more where the recorded run ${describeItem(item)}`, this.at);
  }

  diverge(what: string, at: number): void {
    this.#divergence ??= { what, at, changes: [] };
  }

  #diverge(what: string, item: Item | undefined): void {
    if (item !== undefined)
      this.diverge(
        `${what} where the recorded run ${isInput(item) ? 'did nothing more' : describeItem(item)}`,
        this.at,
      );
  }

  /** The next entry; undefined at the end of the journal, or after a divergence. */
  #next(): Item | undefined {
    return this.#divergence === undefined ? this.#options.journal.at(this.at) : undefined;
  }

  #match(effect: Effect): void {
    if (this.#divergence !== undefined) {
      if ('out' in effect) this.#instead.push(effect.out);
      return;
    }
    const item = this.#next();
    if (item === undefined) return;
    if ('out' in effect) this.#matchOut(effect.out, item);
    else if (Array.isArray(item) && item[0] === 'do' && item[1] === effect.what && isDeepEqual(item[2], effect.detail))
      this.at += 1;
    else this.#diverge(`${effect.what} ${JSON.stringify(effect.detail)}`, item);
  }

  #matchOut(got: WireMessage, item: Item): void {
    const number = Number(got.headers[HEADER.seq]);
    if (!Array.isArray(item) || item[0] !== 'out' || item[1] !== number) {
      this.#diverge(`publishes its message ${number} on ${got.subject}`, item);
      this.#instead.push(got);
      return;
    }
    const expected = this.#options.published(number);
    const changes = expected === undefined ? [] : changesBetween(expected, got);
    if (changes.length > 0) {
      this.#divergence = { what: 'publishes another message', at: this.at, expected, got, changes };
      return;
    }
    this.at += 1;
    (expected === undefined ? this.unrecorded : this.equal).add(number);
  }

  /** Adds the first message in which the rest of the turn differs from the recording. */
  #withMessages(divergence: Divergence): Divergence {
    if (divergence.expected !== undefined || divergence.got !== undefined) return divergence;
    const expected = this.#restOfTurn(divergence.at);
    for (let place = 0; place < Math.max(expected.length, this.#instead.length); place++) {
      const [one, other] = [expected[place], this.#instead[place]];
      const changes = one !== undefined && other !== undefined ? changesBetween(one, other, timeHeaders) : [];
      if (one === undefined || other === undefined || changes.length > 0) {
        return { ...divergence, expected: one, got: other, changes };
      }
    }
    return divergence;
  }

  #restOfTurn(from: number): WireMessage[] {
    const messages: WireMessage[] = [];
    const { journal } = this.#options;
    for (let at = from; ; at++) {
      const item = journal.at(at);
      if (item === undefined || isInput(item)) break;
      const message = Array.isArray(item) && item[0] === 'out' ? this.#options.published(item[1]) : undefined;
      if (message !== undefined) messages.push(message);
    }
    return messages;
  }
}
