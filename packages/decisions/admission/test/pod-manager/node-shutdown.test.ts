import type { Pod } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { beforeEach, expect, test } from '@jest/globals';
import { Loop } from './loop.ts';

const podOf = (uid: string): Pod => makePod({ containers: [{ name: 'c' }] }, { uid, name: uid });
const ENDED = { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' };
const REFUSED = { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };

let loop: Loop;

beforeEach(() => {
  loop = new Loop({ sources: ['file'] }).known();
  loop.desire(podOf('a'));
  loop.desire(podOf('over'));
  loop.worker('a', 'syncing');
  loop.worker('over', 'terminated');
});

test('a shutdown names the pods that have to end, and no pod is admitted from then on', () => {
  expect(loop.state.close().map(({ metadata }) => metadata.uid)).toEqual(['a']);
  loop.decideAll();
  expect(loop.works.get('a')?.work).toBe('sync');

  loop.state.endForShutdown('a', 7);
  loop.desire(podOf('late'));
  loop.decideAll();
  expect(loop.works.get('a')).toMatchObject({ work: 'evict', failure: ENDED, graceSeconds: 7 });
  expect(loop.works.get('late')).toMatchObject({ work: 'reject', failure: REFUSED });
  expect(loop.records.get('late')).toBeUndefined();
});

test('a pod has ended when its worker has cleaned up after it', () => {
  const report = { ref: { namespace: 'default', name: 'a', uid: 'a' }, since: '', state: 'terminated' } as const;
  expect(loop.state.hasEnded('a')).toBe(false);
  loop.state.worker('a', report);
  expect(loop.state.hasEnded('a')).toBe(false);
  loop.state.worker('a', { ...report, cleaned: true });
  expect(loop.state.hasEnded('a')).toBe(true);
  expect(loop.state.hasEnded('nobody')).toBe(true);
});

test('a cancelled shutdown brings back no pod, and admits new ones', () => {
  loop.state.close();
  loop.state.endForShutdown('a', 7);
  loop.desire(podOf('late'));
  loop.state.open();
  loop.desire(podOf('new'));
  loop.decideAll();
  expect(['a', 'late', 'new'].map((uid) => loop.works.get(uid)?.work)).toEqual(['evict', 'reject', 'sync']);
});

test('after the boot the pods are wanted as before, once it is known that there is no shutdown', () => {
  loop.state.close();
  loop.state.endForShutdown('a', 7);
  loop.desire(podOf('late'));
  loop.decideAll();
  loop.works.clear();

  const booted = new Loop({ sources: ['file'], awaitsShutdown: true });
  for (const [uid, record] of loop.records) booted.records.set(uid, record);
  booted.restart();
  for (const uid of ['a', 'late']) booted.desire(podOf(uid));
  booted.known();
  expect([booted.works.size, booted.state.ready, booted.state.isListed]).toEqual([0, false, true]);
  booted.state.open();
  booted.decideAll();
  expect(['a', 'late'].map((uid) => booted.works.get(uid)?.work)).toEqual(['sync', 'sync']);
});
