import type { Labels, MetricSample } from './family.ts';

/** The counts for each set of labels. */
export class Tally {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /** @param begin labels that exist with 0 before the first count. Default: none; a counter then starts with its first count */
  constructor(...begin: readonly Labels[]) {
    for (const labels of begin) this.add(labels, 0);
  }

  /** All counts of a metric must have the same label names, in the same order. */
  add(labels: Labels = {}, by = 1): void {
    const key = JSON.stringify(labels);
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { labels, value: by });
    else count.value += by;
  }

  /** The counts so far. */
  get samples(): MetricSample[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ labels, value }));
  }
}
