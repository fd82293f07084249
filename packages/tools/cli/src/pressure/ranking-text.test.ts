import { expect, test } from '@jest/globals';
import type { EvictionDecision } from '@kubus/contracts';
import { evictionText } from './ranking-text.ts';

const MI = 1024 * 1024;
const ranked = { critical: false, exceeds: true, priority: 0, used: 200 * MI, requested: 0 };
const named = (name: string) => ({ ref: { namespace: 'default', name, uid: name } });
const decision: EvictionDecision = {
  ...{ signal: 'nodefs.available', threshold: '10%', amount: 100 * MI, graceSeconds: 0 },
  ...{ available: 90 * MI, capacity: 1000 * MI, readAt: '2030-01-01T10:00:00.000Z' },
  reclaimed: [
    { what: 'containers', before: 90 * MI, after: 95 * MI },
    { what: 'images', before: 95 * MI, after: 94 * MI },
  ],
  ranking: {
    signal: 'nodefs.available',
    pods: [
      { ...ranked, ...named('dns'), critical: true },
      { ...ranked, ...named('greedy') },
      { ...ranked, ...named('modest'), exceeds: false, used: 10 * MI, requested: 20 * MI },
    ],
    leftOut: 0,
  },
};

test('the trace of an evicted pod ends with why it was this one, and with all that were considered', () => {
  expect(evictionText(decision, 'greedy')).toBe(
    `Why this pod: nodefs.available was 90.0 MiB at 10:00:00, its threshold is 10%. Before, ended containers (5.0 MiB) and unused images (which freed nothing) were removed, which was not enough. It was the first of 2 pods that could go: it uses 200.0 MiB with 0 B requested at priority 0; next was default/modest, which uses 10.0 MiB with 20.0 MiB requested at priority 0.

ORDER   NAMESPACE   NAME     ABOVE REQUEST   PRIORITY   USES        REQUESTS
never   default     dns      yes             0          200.0 MiB   0 B
1       default     greedy   yes             0          200.0 MiB   0 B
2       default     modest   no              0          10.0 MiB    20.0 MiB`,
  );
});
