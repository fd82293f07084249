import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Summary, needsSecondSample, nodeUsage, podUsages, summarySchema } from '../src/top/summary.ts';
import { nodeTable, podTable } from '../src/top/usage-table.ts';

/** A response of a reference kubelet. */
const reference = summarySchema.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, 'reference/stats-summary.json'), 'utf8')),
);

test('the summary of the reference kubelet is shown', () => {
  expect(needsSecondSample(reference)).toBe(false);
  expect(nodeTable(nodeUsage(reference), 2)).toBe(
    [
      'NAME    CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)',
      'node0   64m          3%       1236Mi          5%',
    ].join('\n'),
  );
  const options = { namespaces: true, containers: true };
  expect(podTable(podUsages(reference), options)).toBe(
    [
      'NAMESPACE   POD   NAME   CPU(cores)   MEMORY(bytes)',
      'default     web   c      1m           0Mi',
      'default     web   d      0m           0Mi',
    ].join('\n'),
  );
});

function summary(time: string, pods: Record<string, [nanos: number, bytes: number, rate?: number]>): Summary {
  const used = ([nanos, workingSetBytes, rate]: [number, number, number?]) => ({
    cpu: { time, usageCoreNanoSeconds: nanos, ...(rate !== undefined && { usageNanoCores: rate }) },
    memory: { workingSetBytes },
  });
  return summarySchema.parse({
    node: { nodeName: 'n', ...used([0, 1, 0]) },
    pods: Object.entries(pods).map(([name, use]) => ({
      podRef: { name, namespace: 'default', uid: `uid-${name}` },
      containers: [{ name: 'c', ...used(use) }],
    })),
  });
}

const MIB = 1024 * 1024;

describe('a CPU rate that the node does not report', () => {
  const first = summary('2030-01-01T00:00:00Z', { a: [5e9, 1], b: [5e9, 1], c: [1, 1, 7] });
  const second = summary('2030-01-01T00:00:02Z', { a: [6e9, 1], b: [1e9, 1], c: [9e9, 1, 8], d: [9e9, 1] });

  test('is computed from two samples, unless the container has restarted', () => {
    expect(needsSecondSample(first)).toBe(true);
    const rates = podUsages(second, first).map(({ name, nanoCores }) => [name, nanoCores]);
    expect(rates).toEqual([
      ['a', 0.5e9],
      ['b', undefined],
      ['c', 8],
      ['d', undefined],
    ]);
    expect(podUsages(first).map(({ nanoCores }) => nanoCores)).toEqual([undefined, undefined, 7]);
  });
});

describe('pods', () => {
  const pods = podUsages(
    summary('2030-01-01T00:00:00Z', { b: [0, 3 * MIB, 1_000_001], c: [0, 9.9 * MIB, 0], a: [0, MIB] }),
  );
  const rows = (sortBy?: 'cpu' | 'memory') =>
    podTable(pods, { namespaces: false, containers: false, sortBy }).split('\n').slice(1);

  test('are sorted by name, or by usage with the highest first', () => {
    expect(rows()).toEqual(['a      <unknown>    1Mi', 'b      2m           3Mi', 'c      0m           9Mi']);
    expect(rows('cpu').map((row) => row[0])).toEqual(['b', 'c', 'a']);
    expect(rows('memory').map((row) => row[0])).toEqual(['c', 'b', 'a']);
  });
});
