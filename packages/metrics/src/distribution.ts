import type { Labels, MetricSeries } from './family.ts';

interface Counted {
  readonly labels: Labels;
  /** How many values fell into each bucket; the last one is for what is greater than every bound. */
  readonly counts: number[];
  sum: number;
}

/** What has been observed of the values of a histogram: how many there are in each bucket, and their sum. */
export class Distribution {
  readonly #bounds: readonly number[];
  readonly #counted = new Map<string, Counted>();

  /**
   * @param bounds greatest values of the buckets, growing; there is one more for what is greater.
   * @param begin labels that are there before anything was observed; without any, there is nothing until then.
   */
  constructor(bounds: readonly number[], ...begin: readonly Labels[]) {
    this.#bounds = bounds;
    for (const labels of begin) this.#of(labels);
  }

  /** Values of the same metric have the same names of labels, in the same order. */
  observe(labels: Labels, value: number): void {
    const counted = this.#of(labels);
    const index = this.#bounds.findIndex((bound) => value <= bound);
    const at = index === -1 ? this.#bounds.length : index;
    counted.counts[at] = (counted.counts[at] ?? 0) + 1;
    counted.sum += value;
  }

  /** What has been observed until now. */
  get series(): MetricSeries[] {
    return [...this.#counted.values()].map(({ labels, counts, sum }) => {
      let count = 0;
      const buckets = this.#bounds.map((le, index) => ({ le, count: (count += counts[index] ?? 0) }));
      return { labels, buckets, sum, count: count + (counts.at(-1) ?? 0) };
    });
  }

  #of(labels: Labels): Counted {
    const key = JSON.stringify(labels);
    let counted = this.#counted.get(key);
    if (counted === undefined) {
      counted = { labels, counts: Array.from({ length: this.#bounds.length + 1 }, () => 0), sum: 0 };
      this.#counted.set(key, counted);
    }
    return counted;
  }
}
