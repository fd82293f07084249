import type { Labels, MetricSample } from './family.ts';

/** What has been counted for each set of labels. */
export class Tally {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  /** @param begin labels that are there with 0 before anything was counted; without any, a counter begins with its first count. */
  constructor(...begin: readonly Labels[]) {
    for (const labels of begin) this.add(labels, 0);
  }

  /** Counts of the same metric have the same names of labels, in the same order. */
  add(labels: Labels = {}, by = 1): void {
    const key = JSON.stringify(labels);
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { labels, value: by });
    else count.value += by;
  }

  /** What has been counted until now. */
  get samples(): MetricSample[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ labels, value }));
  }
}
