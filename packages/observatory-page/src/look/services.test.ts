import { expect, test } from '@jest/globals';
import { byPlace, colorIndex } from './services.ts';

test('services have colours of their own; strangers have one, always the same', () => {
  const known = ['config-sources', 'sync-loop', 'pod-workers', 'cri-bridge', 'cni-bridge', 'launcher'];
  expect(new Set(known.map(colorIndex)).size).toBe(known.length);
  for (const name of ['my-prober', '', 'ü']) {
    expect(colorIndex(name)).toBe(colorIndex(name));
    expect(colorIndex(name)).toBeGreaterThanOrEqual(0);
    expect(colorIndex(name)).toBeLessThan(14);
  }
});

test('services stand in the order in which a pod comes to them, strangers after them by name', () => {
  const sorted = ['zeta', 'cri-bridge', 'alpha', 'config-sources', 'sync-loop'].sort(byPlace);
  expect(sorted).toEqual(['config-sources', 'sync-loop', 'cri-bridge', 'alpha', 'zeta']);
});
