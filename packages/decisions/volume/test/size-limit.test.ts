import { expect, test } from '@jest/globals';
import { limitedFolders, sizeExcess } from '../src/index.ts';

test.each([
  ['1Mi', 1_048_576n, undefined],
  ['1Mi', 1_048_577n, 'Usage of EmptyDir volume "x" exceeds the limit "1Mi". '],
  ['1024Ki', 1_048_577n, 'Usage of EmptyDir volume "x" exceeds the limit "1Mi". '],
  ['1500M', 1_500_000_001n, 'Usage of EmptyDir volume "x" exceeds the limit "1500M". '],
  ['0', 1n, undefined],
])('with a limit of %s, %d bytes have the excess message %p', (sizeLimit, bytes, message) => {
  expect(sizeExcess({ name: 'x', sizeLimit }, bytes)).toBe(message);
});

test('only folders with a limit are measured', () => {
  const folder = { kind: 'folder', path: '/f', mode: 0 } as const;
  expect(
    limitedFolders([
      { name: 'a', step: folder },
      { name: 'b', step: { ...folder, sizeLimit: '1Mi' } },
      { name: 'q', step: { ...folder, sizeLimit: '1Mi', quota: true } },
      { name: 'c', step: { kind: 'memory', path: '/m', type: 'tmpfs', options: [] } },
      { name: 'd', refusal: 'no' },
    ]),
  ).toEqual([
    { name: 'b', path: '/f', sizeLimit: '1Mi' },
    { name: 'q', path: '/f', sizeLimit: '1Mi', quota: true },
  ]);
});
