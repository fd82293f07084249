import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type ImageGcPolicy,
  type ImageRecord,
  diskUsage,
  forSpace,
  giveImage,
  isOff,
  notEnoughFreed,
  notRemovedForAge,
  notRemovedForSpace,
  observeImages,
  tooOld,
} from '../src/index.ts';

const MINUTE = 60_000;
const NOW = 1_000 * MINUTE;
const policy: ImageGcPolicy = { highPercent: 85, lowPercent: 80, minAgeMs: 2 * MINUTE, maxAgeMs: 0 };

const image = (id: string, options: Partial<ImageRecord> = {}): [string, ImageRecord] => [
  id,
  { id, bytes: 10, pinned: false, inUse: false, firstSeenAt: 0, lastUsedAt: 0, lastGivenAt: 0, ...options },
];

test.each([
  [85, 0, false],
  [100, 0, true],
  [100, 1, false],
])('image removal at %i %% with a maximum age of %i is disabled: %s', (highPercent, maxAgeMs, off) => {
  expect(isOff({ ...policy, highPercent, maxAgeMs })).toBe(off);
});

describe('a read of the runtime’s images', () => {
  const seen = (id: string) => ({ id, bytes: 5, pinned: false });

  test('adds new images, keeps when the others were first seen, and drops removed ones', () => {
    const before = new Map([image('old', { firstSeenAt: 7 }), image('gone'), image('used', { lastUsedAt: 3 })]);
    const inUse = new Set(['used']);
    const after = observeImages(before, { images: [seen('old'), seen('new'), seen('used')], inUse, now: NOW });
    expect(
      [...after.values()].map(({ id, inUse, firstSeenAt, lastUsedAt }) => [id, inUse, firstSeenAt, lastUsedAt]),
    ).toEqual([
      ['old', false, 7, 0],
      ['new', false, NOW, 0],
      ['used', true, 0, NOW],
    ]);
  });

  test('keeps when an image was made available to a pod', () => {
    const given = giveImage(new Map(), 'a', 9);
    expect(observeImages(given, { images: [seen('a')], inUse: new Set(), now: NOW }).get('a')).toEqual({
      ...{ id: 'a', bytes: 5, pinned: false, inUse: false },
      ...{ firstSeenAt: 9, lastUsedAt: 0, lastGivenAt: 9 },
    });
  });
});

test('to free space, the least recently used image is removed first, then the one that was seen first', () => {
  const records = new Map([
    image('later', { lastUsedAt: 5 }),
    image('never-2', { firstSeenAt: 2 }),
    image('never-1', { firstSeenAt: 1 }),
    image('in-use', { inUse: true }),
    image('pinned', { pinned: true }),
    image('young', { firstSeenAt: NOW - 2 * MINUTE + 1 }),
    image('just-given', { lastGivenAt: NOW - 1 }),
    image('old-enough', { firstSeenAt: NOW - 2 * MINUTE }),
  ]);
  expect(forSpace(records, policy, NOW).map(({ id }) => id)).toEqual(['never-1', 'never-2', 'old-enough', 'later']);
});

describe('removal by age', () => {
  const records = new Map([
    image('never'),
    image('old', { lastUsedAt: NOW - 61 * MINUTE }),
    image('given', { lastUsedAt: NOW - 61 * MINUTE, lastGivenAt: NOW - MINUTE }),
    image('limit', { lastUsedAt: NOW - 60 * MINUTE }),
    image('in-use', { inUse: true }),
    image('pinned', { pinned: true }),
  ]);
  test.each([
    [60, 61, ['never', 'old']],
    [60, 60, []],
    [0, 1_000, []],
  ])('with a maximum age of %i min, %i min after the start, removes %j', (minutes, up, gone) => {
    const times = { now: NOW, upSince: NOW - up * MINUTE };
    expect(tooOld(records, { ...policy, maxAgeMs: minutes * MINUTE }, times)).toEqual(gone);
  });
});

describe('disk usage', () => {
  test.each([
    [1000, 151, { percent: 85, bytesToFree: 49 }],
    [1000, 150, { percent: 85, bytesToFree: 50 }],
    [1000, 160, { percent: 84, bytesToFree: 0 }],
    [1000, 0, { percent: 100, bytesToFree: 200 }],
    [1000, 2000, { percent: 0, bytesToFree: 0 }],
    [0, 0, undefined],
  ])('of %i bytes with %i available is %j', (capacity, available, usage) => {
    expect(diskUsage({ capacity, available }, policy)).toEqual(usage);
  });

  test('never requires a negative amount to be freed, and freeing it leads to the lower threshold', () => {
    const percent = fc.integer({ min: 0, max: 100 });
    const bytes = fc.integer({ min: 10_000, max: 2 ** 40 });
    fc.assert(
      fc.property(percent, percent, bytes, bytes, (a, b, capacity, some) => {
        const limits = { ...policy, highPercent: Math.max(a, b), lowPercent: Math.min(a, b) };
        const available = some % (capacity + 1);
        const usage = diskUsage({ capacity, available }, limits);
        const toFree = usage?.bytesToFree ?? -1;
        expect(toFree).toBeGreaterThanOrEqual(0);
        if (toFree === 0) return;
        const after = diskUsage({ capacity, available: available + toFree }, { ...limits, highPercent: 101 });
        expect(after?.percent).toBeLessThanOrEqual(limits.lowPercent + 1);
      }),
    );
  });

  test('that stays too high is reported with the reference’s text', () => {
    expect(notEnoughFreed(95, 10 * 1024 ** 3, 12)).toBe(
      "Insufficient free disk space on the node's image filesystem (95% of 10.0 GiB used). Failed to free sufficient " +
        'space by deleting unused images (freed 12 bytes). Investigate disk usage, as it could be used by active ' +
        'images, logs, volumes, or other data.',
    );
    expect(notEnoughFreed(95, 1000, 0)).toContain('of 1000 B used');
    expect(notEnoughFreed(95, 1.5 * 1024 ** 5, 0)).toContain('of 1536.0 TiB used');
  });

  test.each([
    [['busy'], 'busy'],
    [['busy', 'gone', 'busy'], '[busy, gone]'],
  ])('the error text with the errors %j is that of the reference', (errors, text) => {
    expect(notRemovedForAge({ ...policy, maxAgeMs: 90 * MINUTE }, errors)).toBe(
      `wanted to free images older than 1h30m0s, encountered errors in image deletion: ${text}`,
    );
    expect(notRemovedForSpace({ wanted: 20, freed: 5 }, errors)).toBe(
      `wanted to free 20 bytes, but freed 5 bytes space with errors in image deletion: ${text}`,
    );
  });
});
