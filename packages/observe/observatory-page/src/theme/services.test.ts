import { expect, test } from '@jest/globals';
import { byPlace, colorIndex } from './services.ts';

test('each known service has a colour of its own; an unknown one always gets the same', () => {
  const known = ['config-sources', 'sync-loop', 'pod-workers', 'cri-bridge', 'cni-bridge', 'launcher'];
  expect(new Set(known.map(colorIndex)).size).toBe(known.length);
  for (const name of ['my-prober', '', 'ü']) {
    expect(colorIndex(name)).toBe(colorIndex(name));
    expect(colorIndex(name)).toBeGreaterThanOrEqual(0);
    expect(colorIndex(name)).toBeLessThan(14);
  }
});

test('services are in the order in which a pod reaches them; unknown ones follow by name', () => {
  const sorted = ['zeta', 'cri-bridge', 'alpha', 'config-sources', 'sync-loop'].sort(byPlace);
  expect(sorted).toEqual(['config-sources', 'sync-loop', 'cri-bridge', 'alpha', 'zeta']);
});
