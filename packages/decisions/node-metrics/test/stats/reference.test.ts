// Documents that the reference serves, as data: everything in them has to be in those of Kubus.
import { describe, expect, test } from '@jest/globals';
import type { MetricFamily } from '@kubus/metrics';
import { cadvisorMetrics, resourceMetrics, statsSummary } from '../../src/index.ts';
import { node, samplesIn } from './readings.ts';
import metricsCadvisor from './reference/metrics-cadvisor.json' with { type: 'json' };
import metricsResource from './reference/metrics-resource.json' with { type: 'json' };
import referenceSummary from './reference/stats-summary.json' with { type: 'json' };

/** Every path of a document, as `pods[].cpu.time string`; objects and lists have one too. */
function paths(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => paths(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [`${path} ${typeof value}`];
  return Object.entries(value).flatMap(([key, item]) => paths(item, path === '' ? key : `${path}.${key}`));
}

describe('the summary', () => {
  test('has every field of the reference, with its type', () => {
    const ours = new Set(paths(JSON.parse(JSON.stringify(statsSummary(node)))));
    expect(paths(referenceSummary).filter((path) => !ours.has(path))).toEqual([]);
  });
});

interface ReferenceFamily {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

describe.each<[string, readonly ReferenceFamily[], readonly MetricFamily[]]>([
  ['/metrics/cadvisor', metricsCadvisor, cadvisorMetrics(node)],
  ['/metrics/resource', metricsResource, resourceMetrics(node)],
])('%s compared with the reference', (_path, reference, families) => {
  test.each(reference)('has $name with its type and its labels', ({ name, type, labels }) => {
    const family = families.find((one) => one.name === name);
    expect(family?.type).toBe(type);
    const samples = samplesIn(family);
    expect(samples.length).toBeGreaterThan(0);
    for (const sample of samples) expect(Object.keys(sample.labels).sort()).toEqual(labels);
  });

  test('has each family once', () => {
    const names = families.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  test('has each sample once', () => {
    for (const family of families) {
      const samples = samplesIn(family).map(({ labels }) => JSON.stringify(labels));
      expect(samples).toEqual([...new Set(samples)]);
    }
  });
});
