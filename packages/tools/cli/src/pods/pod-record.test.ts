import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { podWork } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { lastOfName } from './pod-record.ts';

test('a name that no pod has any more means the last removed pod that had it', () => {
  const broker = new LocalBroker('node0');
  const facts = broker.join('sync-loop', new ManualClock()).bus.owner(podWork);
  const work = { source: 'file', work: 'sync', reason: 'desired', worker: 'pod-workers-0', firstSeen: '' } as const;
  for (const [uid, name, namespace] of [
    ['u1', 'web-node0', 'default'],
    ['u2', 'web-node0', 'default'],
    ['u3', 'web-node0', 'other'],
    ['u4', 'web', 'other'],
  ] as const) {
    facts.put(uid, { ref: { uid, name, namespace }, ...work });
    facts.remove(uid);
  }
  const messages = broker.said.map((message, index) => ({ seq: index + 1, stored: index, message }));
  const named = (name: string, namespace = 'default') => lastOfName(messages, name, namespace, 'node0');
  expect([named('web'), named('web-node0'), named('pod/web'), named('web', 'other')]).toEqual(['u2', 'u2', 'u2', 'u4']);
  expect([named('we'), named('web', 'none')]).toEqual([undefined, undefined]);
});
