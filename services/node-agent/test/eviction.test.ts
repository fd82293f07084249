import { expect, test } from '@jest/globals';
import { HEADER } from '@kubus/bus';
import type { NodePressure, RuntimeContainer } from '@kubus/contracts';
import type { PodReading } from '@kubus/node-metrics';
import { exited as makeExited, sandbox as makeSandbox } from '@kubus/pod-lifecycle/testing';
import { settled } from '@kubus/ports/testing';
import {
  asked,
  broker,
  decisions,
  ends,
  left,
  measures,
  MI,
  nodeEvents,
  pass,
  podRef,
  refused,
  removals,
  runs,
  runtimes,
  uids,
  usage,
  watch,
  works,
} from './evicting-node.ts';

test('one pod goes, and the next only when it has ended and there still is too little', async () => {
  runs('small', 10);
  runs('large', 100);
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await settled();
  expect(asked).toEqual([
    {
      uid: 'large',
      graceSeconds: 1,
      failure: expect.objectContaining({
        reason: 'Evicted',
        message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
      }),
    },
  ]);
  expect(nodeEvents()).toEqual(['Attempting to reclaim memory']);
  await pass(10_000);
  expect(uids()).toEqual(['large']);

  works.remove('large');
  ends('large');
  await settled();
  expect(uids()).toEqual(['large', 'small']);
  left.memory = 500;
  ends('small');
  await pass(60_000);
  expect(uids()).toEqual(['large', 'small']);
  watching.stop();
});

test('the end of a pod is not waited for longer than 30 s', async () => {
  runs('first', 100);
  runs('second', 10);
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await pass(29_000);
  expect(uids()).toEqual(['first']);
  refused.add('first');
  await pass(1_000);
  expect(uids()).toEqual(['first', 'second']);
  watching.stop();
});

test('critical pods and those that sync-loop no longer has are passed over', async () => {
  runs('critical', 500, { priority: 2_000_000_000 });
  runs('gone', 400);
  runs('third', 1);
  refused.add('gone');
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await settled();
  expect(uids()).toEqual(['third']);
  watching.stop();
});

test('a node with critical pods alone evicts none, and tries again with the next pass', async () => {
  runs('critical', 500, { priority: 2_000_000_000 });
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await pass(10_000);
  expect(asked).toEqual([]);
  runs('plain', 1);
  await pass(10_000);
  expect(uids()).toEqual(['plain']);
  watching.stop();
});

test('images go before pods, and pods stay when that was enough', async () => {
  runs('web', 1);
  left.disk = 9;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  expect([removals, asked]).toEqual([1, []]);
  left.disk = -5;
  await pass(10_000);
  expect([removals, uids()]).toEqual([2, ['web']]);
  watching.stop();
});

test('containers of pods that have ended go first, and images when they are gone', async () => {
  const sandbox = makeSandbox({ ready: false });
  const ref = { namespace: 'default', name: 'done', uid: 'done' };
  const has = (containers: RuntimeContainer[]) =>
    runtimes.put('done', { ref, stamp: { epoch: 2, counter: 1 }, sandboxes: [sandbox], containers });
  has([makeExited(0)]);
  ends('done');
  left.disk = 9;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  const removesEnded = () =>
    broker.said.flatMap(({ headers, data }) =>
      Object.values(headers).includes('node.fact.pressure/1') ? [(JSON.parse(data) as NodePressure).removesEnded] : [],
    );
  expect([removesEnded(), removals]).toEqual([[undefined, true], 0]);
  has([]);
  await settled();
  expect(removals).toBe(0);
  runtimes.remove('done');
  await settled();
  expect([removesEnded(), removals]).toEqual([[undefined, true, undefined], 0]);
  // The runtime has up to three seconds to give back what was theirs.
  await pass(2_750);
  expect(removals).toBe(0);
  await pass(250);
  expect(removals).toBe(1);
  watching.stop();
});

test('what the runtime gives back a moment after containers were removed costs no pod', async () => {
  runs('first', 1);
  runs('second', 1);
  left.disk = -50;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  expect(uids()).toEqual(['first']);
  works.remove('first');
  ends('first');
  await pass(1_000);
  expect(uids()).toEqual(['first']);
  left.disk = 50;
  await pass(60_000);
  expect(uids()).toEqual(['first']);
  watching.stop();
});

test('containers that stay in spite of it are not waited for longer than 30 s', async () => {
  const ref = { namespace: 'default', name: 'done', uid: 'done' };
  const stamp = { epoch: 2, counter: 1 };
  runtimes.put('done', { ref, stamp, sandboxes: [], containers: [makeExited(0)] });
  ends('done');
  left.disk = 9;
  const watching = watch({ 'nodefs.available': '10%' });
  await pass(29_000);
  expect(removals).toBe(0);
  await pass(1_000);
  expect(removals).toBe(1);
  watching.stop();
});

test('a soft threshold evicts after its grace period, with the pod’s own or the longest grace period', async () => {
  runs('web', 1, { terminationGracePeriodSeconds: 30 });
  left.memory = 50;
  const watching = watch({}, { 'memory.available': '100Mi' });
  await pass(10_000);
  expect(asked).toEqual([]);
  await pass(10_000);
  expect(asked).toMatchObject([{ uid: 'web', graceSeconds: 7 }]);
  watching.stop();
});

test('a pod above its limit of ephemeral-storage goes, without any threshold, and without a condition of the node', async () => {
  const limited = { containers: [{ name: 'c', resources: { limits: { 'ephemeral-storage': '1Mi' } } }] };
  runs('within', 1, limited);
  runs('above', 1, limited);
  runs('critical', 1, { ...limited, priority: 2_000_000_000 });
  measures(
    usage.map((one) => {
      const logs = { usedBytes: one.ref.uid === 'within' ? MI : MI + 1, inodesUsed: 1 };
      return { ...one, containers: [{ name: 'c', logs }] } as unknown as PodReading;
    }),
  );
  const watching = watch({});
  await pass(10_000);
  expect(asked).toEqual([
    {
      uid: 'above',
      graceSeconds: 1,
      failure: {
        reason: 'Evicted',
        message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ',
      },
    },
  ]);
  expect([watching.pressure.disk, nodeEvents()]).toEqual([false, []]);
  watching.stop();
});

test('without limits and thresholds no pod is measured', async () => {
  runs('web', 1);
  let measured = 0;
  const reading = usage;
  measures(new Proxy(reading, { get: (all, name) => ((measured += 1), Reflect.get(all, name) as unknown) }));
  const watching = watch({});
  await pass(30_000);
  expect(measured).toBe(0);
  watching.stop();
});

test('the request to end a pod says what was short, what was removed before, and who else was considered', async () => {
  runs('web', 10);
  runs('critical', 500, { priority: 2_000_000_000 });
  left.disk = -5;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  expect(decisions).toEqual([
    {
      ...{ signal: 'nodefs.available', threshold: '10%', amount: 10, graceSeconds: 0, available: -5, capacity: 100 },
      readAt: '2030-01-01T00:00:00.000Z',
      // The runtime reports 4096 bytes: what the file system has more of it counts.
      reclaimed: [
        { what: 'containers', before: -5, after: -5 },
        { what: 'images', before: -5, after: 5 },
      ],
      ranking: {
        ...{ signal: 'nodefs.available', leftOut: 0 },
        pods: [
          { ref: podRef('web'), critical: false, exceeds: false, priority: 0, used: 0, requested: 0 },
          { ref: podRef('critical'), critical: true, exceeds: false, priority: 2_000_000_000, used: 0, requested: 0 },
        ],
      },
    },
  ]);
  // The only message of cri-bridge is its answer.
  const request = broker.said.find(({ headers }) => headers[HEADER.type] === 'sync.cmd.evict/1');
  expect(request?.headers[HEADER.causes]).toMatch(/^cri-bridge-0\./);
  watching.stop();
});
