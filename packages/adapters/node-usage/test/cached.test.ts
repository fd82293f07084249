import { beforeEach, expect, test } from '@jest/globals';
import { ManualClock } from '@kubus/ports/testing';
import { Cached } from '../src/cached.ts';

let clock: ManualClock;
let asked: { resolve: (answer: string) => void; reject: (error: Error) => void }[];
let failures: unknown[];
let cached: Cached<string>;

beforeEach(() => {
  clock = new ManualClock();
  asked = [];
  failures = [];
  cached = new Cached({
    ...{ clock, countsMs: 10_000, waitMs: 1_000 },
    ask: () => new Promise((resolve, reject) => asked.push({ resolve, reject })),
    failed: (error) => failures.push(error),
  });
});

test('an answer is valid for a while', async () => {
  const [one, two] = [cached.get(), cached.get()];
  asked[0]?.resolve('first');
  expect(await Promise.all([one, two])).toEqual(['first', 'first']);
  await clock.advance(9_999);
  expect(await cached.get()).toBe('first');
  await clock.advance(1);
  const next = cached.get();
  asked[1]?.resolve('second');
  expect(await next).toBe('second');
  expect(asked).toHaveLength(2);
});

test('a late answer is not waited for, not requested twice, and used when it arrives', async () => {
  const first = cached.get();
  await clock.advance(1_000);
  expect(await first).toBeUndefined();
  await clock.advance(20_000);
  const again = cached.get();
  expect(asked).toHaveLength(1);
  asked[0]?.resolve('late');
  expect(await again).toBe('late');
});

test('a failure is reported, and the next call requests again', async () => {
  const first = cached.get();
  asked[0]?.reject(new Error('no'));
  expect(await first).toBeUndefined();
  expect(failures).toEqual([new Error('no')]);
  const next = cached.get();
  asked[1]?.resolve('yes');
  expect(await next).toBe('yes');
});
