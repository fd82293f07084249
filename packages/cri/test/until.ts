import { setTimeout as pause } from 'node:timers/promises';

const LOOK_AGAIN_MS = 10;

/** For what tells no event: looks until `check` gives a value. Fails after `limitMs`, naming what was waited for. */
export async function until<T>(
  what: string,
  check: () => T | Promise<T>,
  limitMs = 180_000,
): Promise<Exclude<T, undefined | false>> {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) {
      return value as Exclude<T, undefined | false>;
    }
    if (Date.now() > end) {
      throw new Error(`waited ${limitMs} ms for ${what}`);
    }
    await pause(LOOK_AGAIN_MS);
  }
}
