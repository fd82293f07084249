import { expect, test } from '@jest/globals';
import { readPage } from './docs.ts';

test('docs/kubelet.md has the current tables; "pnpm --filter @kubus/kubelet-config write-docs" writes them', () => {
  const { present, wanted } = readPage();
  expect(present).toBe(wanted);
});
