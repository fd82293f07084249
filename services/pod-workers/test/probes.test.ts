import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PodStatusReport } from '@kubus/contracts';
import { ScriptedNode, podOf } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

function done(): string[] {
  return node.bridge.done.splice(0);
}

const probe = { exec: { command: ['true'] } };
const ready = () => node.status('a')?.containerStatuses?.[0]?.ready;

describe('readiness', () => {
  const pod = podOf('a', {}, { readinessProbe: probe });

  test('follows the probe’s results', async () => {
    await node.work(pod);
    expect(ready()).toBe(false);
    await node.probed('a', { c2: { readiness: 'success' } });
    expect(ready()).toBe(true);
    await node.probed('a', { c2: { readiness: 'failure' } });
    expect(ready()).toBe(false);
  });

  test('survives restarts of pod-workers and of a prober without new results', async () => {
    await node.work(pod);
    await node.probed('a', { c2: { readiness: 'success' } });
    node.kill();
    await node.probed('a', { c2: { readiness: 'unknown' } });
    await node.start();
    await node.work(pod, { reason: 'again' });
    expect(ready()).toBe(true);
    const statuses = node.broker.said.filter(({ subject }) => subject.endsWith('worker.fact.status.a'));
    expect(statuses.at(-1)?.data).toContain('"ready":true');
  });

  test('of an earlier run does not apply to the next one', async () => {
    await node.work(pod);
    await node.probed('a', { c2: { readiness: 'success' } });
    node.bridge.exit('a', 'main', 1);
    await node.work(pod, { reason: 'it ended' });
    expect(done()).toContain('CreateContainer main/1');
    expect(ready()).toBe(false);
  });
});

test('a container restarts at once when its liveness probe fails, with the probe’s grace period', async () => {
  await node.work(podOf('a', {}, { livenessProbe: { ...probe, terminationGracePeriodSeconds: 7 } }));
  done();
  await node.probed('a', { c2: { liveness: 'failure' } });
  expect(done()).toEqual(['StopContainer c2 7', 'CreateContainer main/1', 'StartContainer c3']);
  expect(node.events('a')).toContain('Killing: Container main failed liveness probe, will be restarted');
  await node.work(podOf('a', {}, { livenessProbe: probe }), { reason: 'again' });
  expect(done()).toEqual([]);
});

test.each([
  ['fails its liveness probe', () => node.probed('a', { c2: { liveness: 'failure' } })],
  ['has another image', () => node.work(podOf('a', { restartPolicy: 'OnFailure' }, { image: 'busybox:2' }))],
])('a container that exits with 0 because it %s does not end its pod', async (_, replace) => {
  node.bridge.images.add('busybox:2');
  node.bridge.stopExitCode = 0;
  await node.work(podOf('a', { restartPolicy: 'OnFailure' }, { livenessProbe: probe }));
  done();
  await replace();
  expect(done()).toEqual(['StopContainer c2 30', 'CreateContainer main/1', 'StartContainer c3']);
  const phases = node.broker.said.flatMap(({ subject, data }) =>
    subject.endsWith('worker.fact.status.a') ? (JSON.parse(data) as PodStatusReport).status.phase : [],
  );
  expect([...new Set(phases)]).toEqual(['Pending', 'Running']);
});

test('a container that fails its startup probe without a restart policy for it ends its pod', async () => {
  await node.work(podOf('a', { restartPolicy: 'Never' }, { startupProbe: probe }));
  done();
  await node.probed('a', { c2: { startup: 'failure' } });
  await node.work(podOf('a', { restartPolicy: 'Never' }, { startupProbe: probe }), { reason: 'it ended' });
  expect(done()).toEqual(['StopContainer c2 30', 'StopPodSandbox s1']);
  expect(node.status('a')?.phase).toBe('Failed');
});

test('probe results are recorded before they are acted on', async () => {
  await node.work(podOf('a', {}, { livenessProbe: probe }));
  let recorded: unknown;
  node.bridge.before = async (what) => {
    if (what.startsWith('StopContainer')) recorded = (await node.records.load()).get('a');
  };
  await node.probed('a', { c2: { liveness: 'failure' } });
  expect(recorded).toMatchObject({ probes: { c2: { liveness: 'failure' } } });
});

test('a ready pod is never published as unready because pod-workers ended before it could record its readiness', async () => {
  const pod = podOf('a', {}, { readinessProbe: probe });
  await node.work(pod);
  await node.pass(5_000);
  await node.probed('a', { c2: { readiness: 'success' } });
  node.kill();
  const before = node.broker.said.length;
  await node.start();
  await node.work(pod, { reason: 'again' });
  const statuses = node.broker.said.slice(before).filter(({ subject }) => subject.endsWith('worker.fact.status.a'));
  expect(statuses.length).toBeGreaterThan(0);
  expect(statuses.map(({ data }) => /"ready":(true|false)/.exec(data)?.[1])).toEqual(statuses.map(() => 'true'));
});
