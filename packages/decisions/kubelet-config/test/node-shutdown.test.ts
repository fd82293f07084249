import { describe, expect, test } from '@jest/globals';
import { nodeShutdown } from '../src/node-shutdown.ts';

const none = {
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [] as { priority: number; shutdownGracePeriodSeconds: number }[],
};
const gates = (...off: string[]) => ({ enabled: (name: string) => !off.includes(name) });
const two = { ...none, shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 };
const byPriority = {
  ...none,
  shutdownGracePeriodByPodPriority: [
    { priority: 1000, shutdownGracePeriodSeconds: 5 },
    { priority: 0, shutdownGracePeriodSeconds: 60 },
  ],
};

describe('the periods of a shutdown', () => {
  test.each([
    ['of an empty configuration are none', none, [], undefined],
    [
      'are two: that of all pods without that of the critical ones, and theirs',
      two,
      [],
      [
        { priority: 0, seconds: 20 },
        { priority: 2_000_000_000, seconds: 10 },
      ],
    ],
    [
      'are those of the priorities, lowest first',
      byPriority,
      [],
      [
        { priority: 0, seconds: 60 },
        { priority: 1000, seconds: 5 },
      ],
    ],
    ['are none without the gate', two, ['GracefulNodeShutdown'], undefined],
  ])('%s', (_what, config, off, periods) => {
    expect(nodeShutdown(config, gates(...off))?.periods).toEqual(periods);
  });

  test('its times are kept with the gate of priorities alone', () => {
    expect(nodeShutdown(two, gates())?.keepTimes).toBe(true);
    expect(nodeShutdown(two, gates('GracefulNodeShutdownBasedOnPodPriority'))?.keepTimes).toBe(false);
  });
});
