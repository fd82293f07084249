import { describe, expect, test } from '@jest/globals';
import { Distribution, type MetricFamily } from '@kubus/metrics';
import fc from 'fast-check';
import { type InstanceFamilies, mergeFamilies, parseFamilies } from '../src/index.ts';

function instance(service: string, families: readonly MetricFamily[], pid = 1, slot = 0): InstanceFamilies {
  return { service, instance: `${service}-${slot}`, pid, families };
}

function values(name: string, type: 'counter' | 'gauge', value: number, labels = {}): MetricFamily {
  return { name, help: name, type, samples: [{ labels, value }] };
}

function samplesOf(families: readonly MetricFamily[], name: string) {
  const family = families.find((one) => one.name === name);
  return family === undefined || family.type === 'histogram' ? undefined : family.samples;
}

describe('the metrics of the node', () => {
  test('are sums by labels for metrics that describe the whole node', () => {
    const merged = mergeFamilies([
      instance('pod-workers', [values('kubelet_started_pods_total', 'counter', 2)], 1, 0),
      instance('pod-workers', [values('kubelet_started_pods_total', 'counter', 3)], 2, 1),
      instance('a', [values('rest_client_requests_total', 'counter', 1, { code: '200', host: 'h' })], 3),
      instance('b', [values('rest_client_requests_total', 'counter', 4, { host: 'h', code: '200' })], 4),
      instance('b', [values('rest_client_requests_total', 'counter', 5, { host: 'h', code: '404' })], 5),
    ]);
    expect(merged.map(({ name }) => name)).toEqual(['kubelet_started_pods_total', 'rest_client_requests_total']);
    expect(samplesOf(merged, 'kubelet_started_pods_total')).toEqual([{ labels: {}, value: 5 }]);
    expect(samplesOf(merged, 'rest_client_requests_total')).toEqual([
      { labels: { code: '200', host: 'h' }, value: 5 },
      { labels: { code: '404', host: 'h' }, value: 5 },
    ]);
  });

  test('have the instance as a label for metrics that only Kubus has', () => {
    const one = instance('prober', [values('kubus_prober_pods', 'gauge', 2)], 1, 0);
    const other = instance('prober', [values('kubus_prober_pods', 'gauge', 3)], 2, 1);
    expect(samplesOf(mergeFamilies([one, other]), 'kubus_prober_pods')).toEqual([
      { labels: { service: 'prober', instance: 'prober-0' }, value: 2 },
      { labels: { service: 'prober', instance: 'prober-1' }, value: 3 },
    ]);
  });

  test('include each process once, and the earliest start time', () => {
    const own = (start: number) => [
      values('process_resident_memory_bytes', 'gauge', 10),
      values('process_start_time_seconds', 'gauge', start),
    ];
    const merged = mergeFamilies([
      instance('a', own(200), 1),
      instance('b', own(200), 1),
      instance('c', own(100), 2),
      instance('d', own(300), 3),
    ]);
    expect(samplesOf(merged, 'process_resident_memory_bytes')).toEqual([{ labels: {}, value: 30 }]);
    expect(samplesOf(merged, 'process_start_time_seconds')).toEqual([{ labels: {}, value: 100 }]);
  });

  test('omit a family of another type with the same name', () => {
    const merged = mergeFamilies([
      instance('a', [values('x', 'counter', 1)]),
      instance('b', [values('x', 'gauge', 1), { name: 'x', help: 'x', type: 'histogram', series: [] }]),
    ]);
    expect(merged).toEqual([values('x', 'counter', 1)]);
  });

  test('include histograms with different bounds at the bounds that both have', () => {
    const family = (bounds: readonly number[]): MetricFamily => {
      const seconds = new Distribution(bounds);
      for (const value of [0.5, 1.5, 9]) seconds.observe({ of: 'x' }, value);
      return { name: 'took_seconds', help: 'Times.', type: 'histogram', series: seconds.series };
    };
    const [merged] = mergeFamilies([instance('a', [family([1, 2])]), instance('b', [family([1, 3])])]);
    const series = [{ labels: { of: 'x' }, buckets: [{ le: 1, count: 2 }], sum: 22, count: 6 }];
    expect(merged).toMatchObject({ type: 'histogram', series });
  });

  test('include histograms equal to one of all values, even when they are passed as JSON', () => {
    const labels = fc.constantFrom({ of: 'a' }, { of: 'b' });
    // Whole numbers, whose order does not change the sum.
    const observed = fc.array(fc.tuple(labels, fc.integer({ min: 0, max: 9 })));
    fc.assert(
      fc.property(fc.array(observed, { minLength: 1, maxLength: 4 }), (parts) => {
        const family = (all: typeof parts): MetricFamily => {
          const seconds = new Distribution([1, 5]);
          for (const [of, value] of all.flat()) seconds.observe(of, value);
          const series = seconds.series.sort((a, b) => ((a.labels['of'] ?? '') < (b.labels['of'] ?? '') ? -1 : 1));
          return { name: 'took_seconds', help: 'Times.', type: 'histogram', series };
        };
        const [merged] = mergeFamilies(
          parts.map((part, slot) => instance('s', parseFamilies(JSON.stringify([family([part])])), slot, slot)),
        );
        if (merged?.type !== 'histogram') throw new Error('there is no histogram');
        const series = [...merged.series].sort((a, b) => ((a.labels['of'] ?? '') < (b.labels['of'] ?? '') ? -1 : 1));
        expect({ ...merged, series }).toEqual(family(parts));
      }),
    );
  });

  test('are not parsed from text that does not contain families', () => {
    for (const text of ['{}', '[{"name":"x"}]', '[{"name":"x","help":"","type":"gauge","samples":[{"value":1}]}]', '<'])
      expect(() => parseFamilies(text)).toThrow();
  });
});
