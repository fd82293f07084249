// Which pods need nothing of the node any more: facts on a bus in this process.
import { beforeEach, expect, test } from '@jest/globals';
import type { FactOwner } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import { type PodWork, configuredSources, desiredPods, podWork, podWorker } from '@kubus/contracts';
import { ManualClock, settled } from '@kubus/ports/testing';
import { EndedPods } from '../src/devices/ended-pods.ts';

const ref = { uid: 'a', name: 'a', namespace: 'default' };

let clock: ManualClock;
let works: FactOwner<PodWork>;
let pods: EndedPods;
/** Pods that may have ended, as the listener was told. */
let told: (string | undefined)[];

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  const broker = new LocalBroker('node0');
  works = broker.join('sync-loop', clock).bus.owner(podWork);
  works.complete();
  broker.join('pod-workers', clock).bus.owner(podWorker).complete();
  const sources = broker.join('config-sources', clock).bus;
  sources.owner(configuredSources).put('sources', { sources: ['file'] });
  sources.owner(desiredPods.file).complete();
  pods = new EndedPods(broker.join('node-agent', clock).bus, clock);
  told = [];
  pods.follow((uid) => told.push(uid));
});

test('a pod that nothing lists has ended', async () => {
  await settled();
  expect(pods.has('a')).toBe(true);
});

test('one that requests something has not, until what lists it cannot be late any more', async () => {
  pods.requested('a');
  await clock.advance(20_000);
  pods.requested('a');
  await clock.advance(29_999);
  expect([pods.has('a'), pods.has('b')]).toEqual([false, true]);
  told = [];
  await clock.advance(1);
  expect([pods.has('a'), told]).toEqual([true, ['a']]);
});

test('one that is rejected after its request has ended at once', async () => {
  pods.requested('a');
  const worker = 'pod-workers-0';
  works.put('a', { ref, source: 'file', work: 'reject', reason: 'no CPUs', worker, firstSeen: '2030-01-01T00:00:00Z' });
  await settled();
  expect(pods.has('a')).toBe(true);
});
