import { expect, test } from '@jest/globals';
import type { PressureReport } from '@kubus/contracts';
import { pressureText } from './pressure-text.ts';

const MI = 1024 * 1024;
const readAt = '2030-01-01T10:00:00.000Z';
const memory = { signal: 'memory.available', available: 300 * MI, capacity: 1000 * MI, readAt };
const none: PressureReport = { signals: [memory], thresholds: [], conditions: [], transitionSeconds: 300 };
const pod = { critical: false, exceeds: true, priority: 0, used: 200 * MI, requested: 0 };
const named = (name: string) => ({ ref: { namespace: 'default', name, uid: name } });

test('each signal has its thresholds and the time to them, and the pods their order with the numbers behind it', () => {
  const report: PressureReport = {
    signals: [
      { ...memory, perSecond: -10 * MI },
      { signal: 'pid.available', available: 900, capacity: 1000, readAt, perSecond: 2 },
      { signal: 'nodefs.inodesFree', available: 5, capacity: 10, readAt },
    ],
    thresholds: [
      { signal: 'memory.available', value: '10%', amount: 100 * MI, graceSeconds: 0, secondsLeft: 20 },
      { signal: 'memory.available', value: '400Mi', amount: 400 * MI, graceSeconds: 90, since: readAt, secondsLeft: 0 },
      { signal: 'pid.available', value: '500', amount: 500, graceSeconds: 0 },
      { signal: 'imagefs.available', value: '15%', graceSeconds: 0 },
    ],
    conditions: ['MemoryPressure'],
    transitionSeconds: 300,
    ranking: {
      signal: 'memory.available',
      pods: [
        { ...pod, ...named('greedy') },
        { ...pod, ...named('node-dns'), critical: true },
        { ...named('new'), critical: false, exceeds: false, priority: 5, requested: 100 * MI },
      ],
      leftOut: 2,
    },
  };
  expect(pressureText(report)).toBe(`The node is short: MemoryPressure.

SIGNAL              AVAILABLE   OF           CHANGE        THRESHOLD         GRACE   REACHED
memory.available    300.0 MiB   1000.0 MiB   -10.0 MiB/s   10% (100.0 MiB)   -       in 20s
memory.available    300.0 MiB   1000.0 MiB   -10.0 MiB/s   400Mi             90s     since 10:00:00
pid.available       900         1000         +2/s          500               -       no
nodefs.inodesFree   5           10           -             -                 -       -
imagefs.available   unknown     -            -             15%               -       no

For memory.available would go:

ORDER   NAMESPACE   NAME       ABOVE REQUEST   PRIORITY   USES        REQUESTS
1       default     greedy     yes             0          200.0 MiB   0 B
never   default     node-dns   yes             0          200.0 MiB   0 B
2       default     new        no              5          unknown     100.0 MiB
... and 2 more`);
});

test('a node without thresholds says so, and what that means', () => {
  expect(pressureText(none)).toContain('The node has no thresholds: it evicts no pod');
  expect(pressureText(none)).toContain('The node is short of nothing.');
});

test('a node on which nothing runs says so', () => {
  const ranking = { signal: 'pid.available', pods: [], leftOut: 0 };
  expect(pressureText({ ...none, ranking })).toContain('No pod runs that could be evicted for pid.available.');
});
