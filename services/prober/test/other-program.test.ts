import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import { ScriptedPods, type TestPod } from './scripted-pods.ts';

let pods: ScriptedPods;
beforeEach(async () => {
  pods = new ScriptedPods();
  await pods.start();
});
afterEach(() => pods.kill());

const ready: TestPod = {
  spec: { containers: [{ readinessProbe: { exec: { command: ['ready'] }, failureThreshold: 2 } }] },
};

test('a prober continues from the results of another program in its place, not from its own older record', async () => {
  await pods.work('a', ready);
  await pods.runtime('a', [{ id: 'c-a' }]);
  await pods.pass(0);
  pods.kill();
  await pods.otherProgram('a', { 'c-a': { readiness: 'failure' } });
  pods.exec = () => new Promise(() => undefined);
  await pods.start();
  expect(pods.results('a')).toEqual({ 'c-a': { readiness: 'failure' } });
});

test('a prober continues from another program’s results of an unknown pod, without removing them in between', async () => {
  pods.kill();
  await pods.work('b', ready);
  await pods.runtime('b', [{ id: 'c-b' }]);
  await pods.otherProgram('b', { 'c-b': { readiness: 'success' } });
  const before = pods.broker.said.length;
  pods.exec = () => Promise.resolve({ exitCode: 1 });
  await pods.start();
  await pods.pass(0);
  expect(pods.results('b')).toEqual({ 'c-b': { readiness: 'success' } });
  const said = pods.broker.said.slice(before).filter(({ subject }) => subject.endsWith('.probe.fact.results.b'));
  expect(said.map(({ headers }) => headers[HEADER.removed])).toEqual([undefined]);
  // They count like its own results, and are recorded as such.
  expect((await pods.records.load()).get('b')).toMatchObject({
    probes: { containers: { 'c-b': { readiness: 'success' } } },
  });
  await pods.pass(40);
  expect(pods.results('b')).toEqual({ 'c-b': { readiness: 'failure' } });
});
