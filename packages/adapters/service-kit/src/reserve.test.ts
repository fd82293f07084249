import { expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Reserve } from './reserve.ts';

const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

test('space is given back once, a write that fails again fails, and the space is reserved again after a while', () => {
  const dir = mkdtempSync(join(tmpdir(), 'kubus-reserve-'));
  try {
    let now = 0;
    let writes = 0;
    const path = join(dir, 'reserve');
    const reserve = new Reserve(path, silentLogger, () => now);
    const failing = () => {
      writes += 1;
      throw full;
    };
    expect(() => reserve.use(failing)).toThrow(full);
    expect([writes, existsSync(path)]).toEqual([2, false]);
    expect(() => reserve.use(failing)).toThrow(full);
    expect(writes).toBe(3);
    now = 9_999;
    reserve.use(() => undefined);
    expect(existsSync(path)).toBe(false);
    now = 10_000;
    reserve.use(() => undefined);
    expect(existsSync(path)).toBe(true);
    const other = new Error('read-only');
    expect(() =>
      reserve.use(() => {
        throw other;
      }),
    ).toThrow(other);
    expect(existsSync(path)).toBe(true);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
