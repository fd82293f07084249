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
  ] as const)('%s %o of group %i, read only %p: %o', (kind, mode, gid, readOnly, result) => {
    const expected = result === undefined ? undefined : { gid: 1, mode: result };
    expect(ownershipChange({ kind, mode, gid }, { gid: 1, readOnly })).toEqual(expected);
  });

  test('a link gets the group, and keeps what its mode seems to be', () => {
    expect(ownershipChange({ kind: 'link', mode: 0o777, gid: 0 }, { gid: 1, readOnly: false })).toEqual({ gid: 1 });
    expect(ownershipChange({ kind: 'link', mode: 0o777, gid: 1 }, { gid: 1, readOnly: false })).toBeUndefined();
  });

  test('takes no right away, and leaves nothing to change', () => {
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

describe('whether files are looked at', () => {
  const root = { kind: 'folder', gid: 1, mode: 0o2775 } as const;
  test.each([
    ['Always', root, true],
    [undefined, root, true],
    ['OnRootMismatch', root, false],
    ['OnRootMismatch', { ...root, gid: 0 }, true],
    ['OnRootMismatch', { ...root, mode: 0o775 }, true],
    ['OnRootMismatch', { ...root, mode: 0o2755 }, true],
    ['OnRootMismatch', { ...root, kind: 'file' }, true],
  ] as const)('%s, %p: %p', (policy, file, needed) => {
    const wanted = { gid: 1, readOnly: false, ...(policy !== undefined && { policy }) };
    expect(ownershipNeeded(file, wanted)).toBe(needed);
  });
});

test('the user is told of the volume by its path from the pod on', () => {
  expect(ownershipNews('/k/pods/u1/volumes/x', 'u1', 7)).toBe(
    'Setting volume ownership for u1/volumes/x, processed 7 files.',
  );
  expect(ownershipNews('/elsewhere', 'u1', undefined)).toMatch(
    /^Setting volume ownership for \/elsewhere is taking longer than expected, consider using OnRootMismatch - https:/,
  );
});
