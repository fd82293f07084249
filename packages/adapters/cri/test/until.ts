import { setTimeout as pause } from 'node:timers/promises';

const LOOK_AGAIN_MS = 10;

/** Polls a condition without an event until `check` returns a value. Fails after `limitMs` with the name of the condition. */
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
