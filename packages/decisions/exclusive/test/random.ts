/** Xorshift with 32 bits. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed + 1, 0x9e_37_79_b1) >>> 0 || 1;
  }

  next(): number {
    let state = this.#state;
    state = (state ^ (state << 13)) >>> 0;
    state ^= state >>> 17;
    state = (state ^ (state << 5)) >>> 0;
    this.#state = state;
    return state / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const one = list[this.between(0, list.length - 1)];
    if (one === undefined) throw new Error('an empty list');
    return one;
  }
}
