import { expect, test } from '@jest/globals';
import { readPage } from './docs.ts';

test('docs/kubelet.md has the tables of today; "pnpm --filter @kubus/kubelet-config docs" writes them', () => {
  const { present, wanted } = readPage();
  expect(present).toBe(wanted);
});
