import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ownerOf } from '@kubus/admission';
import { HEADER } from '@kubus/bus';
import type { PodProbes } from '@kubus/contracts';
import { ScriptedPods, type TestPod } from './scripted-pods.ts';

const both = ['prober-0', 'prober-1'];
const uids = Array.from({ length: 12 }, (_, index) => `uid-${index}`);
const [moving = ''] = uids.filter((uid) => ownerOf(uid, both) === 'prober-1');
const ready: TestPod = {
  spec: { containers: [{ readinessProbe: { exec: { command: ['ready'] }, failureThreshold: 3 } }] },
};
let pods: ScriptedPods;

beforeEach(async () => {
  pods = new ScriptedPods();
  await pods.start(0);
  await pods.start(1);
  await pods.share(1, 0);
  for (const uid of uids) {
    await pods.work(uid, ready);
    await pods.runtime(uid, [{ id: `c-${uid}` }]);
  }
  await pods.pass(1);
});
afterEach(() => {
  pods.kill(0);
  pods.kill(1);
});

/** The instance that last published a pod's results. */
function publisher(uid: string): string | undefined {
  const said = pods.broker.said.findLast(({ subject }) => subject.endsWith(`.probe.fact.results.${uid}`));
  return said?.headers[HEADER.source];
}

test('each instance probes its own pods, and known results move with a pod', async () => {
  expect([pods.instance(0).count, pods.instance(1).count]).toEqual([uids.length, 0]);
  pods.exec = () => Promise.resolve({ exitCode: 1 });
  pods.commands.length = 0;
  await pods.share(2, 0, 1);
  for (const uid of uids) {
    expect(publisher(uid)).toBe(ownerOf(uid, both));
    expect(pods.results(uid)).toEqual({ [`c-${uid}`]: { readiness: 'success' } });
  }
  await pods.pass(15);
  expect(pods.commands.length).toBeLessThanOrEqual(2 * uids.length);
  expect(pods.results(moving)).toEqual({ [`c-${moving}`]: { readiness: 'success' } });
  await pods.pass(20);
  expect(pods.results(moving)).toEqual({ [`c-${moving}`]: { readiness: 'failure' } });
  expect(pods.instance(0).count + pods.instance(1).count).toBe(uids.length);
});

test('the pods of a crashed instance are probed by the others', async () => {
  await pods.share(2, 0, 1);
  pods.kill(1);
  await pods.share(3, 0);
  expect(publisher(moving)).toBe('prober-0');
  expect(pods.results(moving)).toEqual({ [`c-${moving}`]: { readiness: 'success' } });
  await pods.finish(moving);
  expect(pods.results(moving)).toBeUndefined();
  expect((await pods.records.load()).has(moving)).toBe(false);
});

test('a restarted instance publishes known results in any order of messages, and continues to probe', async () => {
  await pods.share(2, 0, 1);
  pods.kill(1);
  const said = pods.broker.said.length;
  await pods.start(1);
  const own = pods.broker.said
    .slice(said)
    .filter(({ subject, headers }) => subject.endsWith(moving) && headers[HEADER.source] === 'prober-1');
  expect(own.map(({ headers }) => [headers[HEADER.term], headers[HEADER.removed]])).toEqual([['2', undefined]]);
  expect(pods.results(moving)).toEqual({ [`c-${moving}`]: { readiness: 'success' } });
  pods.exec = () => Promise.resolve({ exitCode: 1 });
  await pods.pass(40);
  expect(pods.results(moving)).toEqual({ [`c-${moving}`]: { readiness: 'failure' } });
});

test('a pod that another instance owned unnoticed is claimed again with that instance’s results', async () => {
  const ref = { uid: moving, name: 'p', namespace: 'default' };
  const probes: PodProbes = { ref, containers: { [`c-${moving}`]: { readiness: 'failure' } } };
  await pods.records.put(moving, { version: 1, holder: 'prober-1', term: 2, probes });
  await pods.share(3, 0);
  expect([publisher(moving), pods.results(moving)]).toEqual(['prober-0', probes.containers]);
  await pods.pass(15);
  await pods.until(() => pods.results(moving)?.[`c-${moving}`]?.readiness === 'success');
});
