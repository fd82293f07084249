import { describe, expect, test } from '@jest/globals';
import { Distribution, Tally, exponentialBuckets } from '../src/index.ts';

describe('counting', () => {
  test('keeps a separate count for each set of labels', () => {
    const calls = new Tally();
    calls.add({ method: 'a' });
    calls.add({ method: 'b' }, 3);
    calls.add({ method: 'a' });
    expect(calls.samples).toEqual([
      { labels: { method: 'a' }, value: 2 },
      { labels: { method: 'b' }, value: 3 },
    ]);
  });

  test('starts with the given labels at 0', () => {
    expect(new Tally().samples).toEqual([]);
    expect(new Tally({}).samples).toEqual([{ labels: {}, value: 0 }]);
    expect(new Distribution([1]).series).toEqual([]);
    expect(new Distribution([1], {}).series).toEqual([
      { labels: {}, buckets: [{ le: 1, count: 0 }], sum: 0, count: 0 },
    ]);
  });

  test('has bounds that grow by a factor', () => {
    expect(exponentialBuckets(0.5, 2, 4)).toEqual([0.5, 1, 2, 4]);
  });
});
