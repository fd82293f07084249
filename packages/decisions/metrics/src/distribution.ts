import type { Labels, MetricSeries } from './family.ts';

interface Counted {
  readonly labels: Labels;
  /** The number of values in each bucket; the last bucket is for values greater than every bound. */
  readonly counts: number[];
  sum: number;
}

/** The observed values of a histogram: the number in each bucket, and their sum. */
export class Distribution {
  readonly #bounds: readonly number[];
  readonly #counted = new Map<string, Counted>();

  /**
   * @param bounds upper bounds of the buckets, ascending; one more bucket is for greater values
   * @param begin labels that exist before the first observation. Default: none; no series exists until then
   */
  constructor(bounds: readonly number[], ...begin: readonly Labels[]) {
    this.#bounds = bounds;
    for (const labels of begin) this.#of(labels);
  }

  /** Values of the same metric have the same label names, in the same order. */
  observe(labels: Labels, value: number): void {
    const counted = this.#of(labels);
    const index = this.#bounds.findIndex((bound) => value <= bound);
    const at = index === -1 ? this.#bounds.length : index;
    counted.counts[at] = (counted.counts[at] ?? 0) + 1;
    counted.sum += value;
  }

  /** What has been observed so far. */
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
