import type { Ids } from './ids.ts';

/** A seeded stream of random numbers (mulberry32): the same seed gives the same run on every machine. */
export class Random implements Ids {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  hex(bytes: number): string {
    let text = '';
    for (let i = 0; i < bytes; i++) text += this.below(256).toString(16).padStart(2, '0');
    return text;
  }

  /** A whole number in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  /** A number in [low, high). */
  between(low: number, high: number): number {
    return low + this.fraction() * (high - low);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  /** All items in another order. */
  shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, by: this.fraction() }))
      .sort((a, b) => a.by - b.by)
      .map(({ item }) => item);
  }

  /** An independent stream, so that one part of a run does not shift the numbers of another. */
  fork(): Random {
    return new Random(this.below(4_294_967_296));
  }
}
