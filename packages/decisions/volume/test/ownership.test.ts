import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ownershipChange, ownershipNeeded, ownershipNews } from '../src/index.ts';

describe('the change of a file for a group', () => {
  // Kind, mode, group; read only; mode afterwards.
  test.each([
    ['file', 0o644, 0, false, 0o664],
    ['file', 0o4711, 0, false, 0o4771],
    ['file', 0o400, 0, true, 0o440],
    ['file', 0o755, 0, true, 0o755],
    ['folder', 0o755, 0, false, 0o2775],
    ['folder', 0o700, 0, true, 0o2750],
    ['folder', 0o2777, 1, false, undefined],
    ['folder', 0o777, 1, false, 0o2777],
    ['file', 0o660, 1, false, undefined],
  ] as const)(
    'of a %s with mode %o and group %i, read-only %p, results in mode %o',
    (kind, mode, gid, readOnly, result) => {
      const expected = result === undefined ? undefined : { gid: 1, mode: result };
      expect(ownershipChange({ kind, mode, gid }, { gid: 1, readOnly })).toEqual(expected);
    },
  );

  test('sets the group of a link, and keeps its mode', () => {
    expect(ownershipChange({ kind: 'link', mode: 0o777, gid: 0 }, { gid: 1, readOnly: false })).toEqual({ gid: 1 });
    expect(ownershipChange({ kind: 'link', mode: 0o777, gid: 1 }, { gid: 1, readOnly: false })).toBeUndefined();
  });

  test('removes no permission, and leaves nothing to change', () => {
    const kind = fc.constantFrom('file' as const, 'folder' as const);
    const mode = fc.integer({ min: 0, max: 0o7777 });
    fc.assert(
      fc.property(kind, mode, fc.nat(3), fc.boolean(), (kind, mode, gid, readOnly) => {
        const wanted = { gid: 1, readOnly };
        const change = ownershipChange({ kind, mode, gid }, wanted) ?? { gid, mode };
        expect((change.mode ?? 0) & mode).toBe(mode);
        expect(ownershipChange({ kind, gid: change.gid, mode: change.mode ?? 0 }, wanted)).toBeUndefined();
      }),
    );
  });
});

describe('whether files are checked', () => {
  const root = { kind: 'folder', gid: 1, mode: 0o2775 } as const;
  test.each([
    ['Always', root, true],
    [undefined, root, true],
    ['OnRootMismatch', root, false],
    ['OnRootMismatch', { ...root, gid: 0 }, true],
    ['OnRootMismatch', { ...root, mode: 0o775 }, true],
    ['OnRootMismatch', { ...root, mode: 0o2755 }, true],
    ['OnRootMismatch', { ...root, kind: 'file' }, true],
  ] as const)('with policy %s and folder %p is %p', (policy, file, needed) => {
    const wanted = { gid: 1, readOnly: false, ...(policy !== undefined && { policy }) };
    expect(ownershipNeeded(file, wanted)).toBe(needed);
  });
});

test('the ownership message contains the volume’s path below the pod’s folder', () => {
  expect(ownershipNews('/k/pods/u1/volumes/x', 'u1', 7)).toBe(
    'Setting volume ownership for u1/volumes/x, processed 7 files.',
  );
  expect(ownershipNews('/elsewhere', 'u1', undefined)).toMatch(
    /^Setting volume ownership for \/elsewhere is taking longer than expected, consider using OnRootMismatch - https:/,
  );
});
