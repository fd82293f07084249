import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PodStatus } from '@kubus/contracts';
import { ScriptedNode, line } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = await ScriptedNode.start();
});

afterEach(() => node.close());

const ready: PodStatus = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2030-01-01T00:00:01Z' }],
};
const deletion = { kind: 'Pod', name: 'web' };

test('a status is patched without reading the pod first, and fields of other writers stay', async () => {
  const web = node.create('web');
  const gate = { type: 'a.io/gate', status: 'True' };
  node.server.patch(deletion, { status: { conditions: [gate], nominatedNodeName: 'n2' } }, { subresource: 'status' });
  node.status(web, ready);
  await node.untilWriteState(web.uid, 'written');
  expect(node.writes().map(line)).toEqual(['patch default/web/status 200']);
  const { conditions, ...rest } = node.stored(web) ?? {};
  expect(rest).toMatchObject({ phase: 'Running', nominatedNodeName: 'n2' });
  expect(conditions).toHaveLength(2);
  expect(conditions).toEqual(
    expect.arrayContaining([gate, ...(ready.conditions ?? [])].map((one): unknown => expect.objectContaining(one))),
  );
  const { resourceVersion } = node.server.get(deletion)?.metadata ?? {};
  expect(node.writeState(web.uid)).toMatchObject({ ref: web, resourceVersion });
  // Its cause can be traced.
  const fact = node.broker.said.findLast(({ subject }) => subject.endsWith(`status.fact.write.${web.uid}`));
  const status = node.broker.said.findLast(({ subject }) => subject.endsWith(`worker.fact.status.${web.uid}`));
  expect(fact?.headers['Kubus-Causes']).toContain(`pod-workers-0.1.${status?.headers['Kubus-Seq'] ?? ''}`);
});

test('an ending pod’s terminal phase is written when nothing runs, and the pod is deleted when it is cleaned up', async () => {
  const web = node.create('web');
  node.worker(web, { state: 'syncing' });
  node.status(web, ready);
  await node.untilWriteState(web.uid, 'written');
  node.server.delete(deletion);
  node.worker(web, { state: 'terminating' });
  node.status(web, { ...ready, phase: 'Succeeded', message: 'ends' });
  await node.server.waitFor(deletion, ({ status }) => status?.['phase'] === 'Running');
  const before = node.server.requests.length;
  node.worker(web, { state: 'terminated' });
  await node.server.waitFor(deletion, ({ status }) => status?.['phase'] === 'Succeeded');
  expect(node.stored(web)?.conditions).toMatchObject([{ type: 'Ready', status: 'False', reason: 'PodCompleted' }]);
  node.worker(web, { state: 'terminated', cleaned: true });
  await node.server.waitGone(deletion);
  await node.untilWriteState(web.uid, 'deleted');
  expect(node.writes(before).map(line)).toEqual(['patch default/web/status 200', 'delete default/web 200']);
  node.worker(web, undefined);
  await node.untilWriteState(web.uid, undefined);
});

test('a pod with a finalizer is deleted once, and then left to the owner of the finalizer', async () => {
  const web = node.create('web', { metadata: { finalizers: ['a.io/keep'] } });
  node.server.delete(deletion);
  node.status(web, { phase: 'Failed' });
  node.worker(web, { state: 'terminated', cleaned: true });
  await node.untilWriteState(web.uid, 'deleted');
  await node.kill();
  node.run();
  const other = node.create('other');
  node.status(other, ready);
  await node.untilWriteState(other.uid, 'written');
  expect(node.writes().filter(({ verb }) => verb === 'delete')).toHaveLength(1);
  node.server.patch(deletion, { metadata: { finalizers: null } });
  await node.server.waitGone(deletion);
});

test('a rejected pod is written as failed, with the reason', async () => {
  const web = node.create('web');
  node.worker(web, { state: 'terminated' });
  node.status(web, { phase: 'Failed', reason: 'OutOfcpu', message: 'Pod was rejected: no room' });
  await node.untilWriteState(web.uid, 'written');
  expect(node.stored(web)).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu', message: 'Pod was rejected: no room' });
});

test('of changes during a write only the newest is written after it', async () => {
  const web = node.create('web');
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const fault = node.server.inject({
    when: ({ verb }) => verb === 'patch',
    fault: { kind: 'delay', until: promise },
    times: 1,
  });
  node.status(web, ready);
  await node.server.waitForRequest(({ verb }) => verb === 'patch');
  for (const message of ['one', 'two', 'three']) node.status(web, { ...ready, message });
  resolve(undefined);
  await node.server.waitFor(deletion, ({ status }) => status?.['message'] === 'three');
  expect(fault.hits).toBe(1);
  expect(node.writes()).toHaveLength(2);
});

test('the most urgent write takes precedence, and no more than ten run at once', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  node.server.inject({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', until: promise }, times: 10 });
  const first = Array.from({ length: 10 }, (_, at) => node.create(`first-${at}`));
  for (const ref of first) node.status(ref, ready);
  await node.server.waitForRequest(({ path }) => path.includes('first-9'));
  const kinds: [string, PodStatus][] = [
    ['other', { phase: 'Running' }],
    ['over', { phase: 'Failed' }],
    ['serves', ready],
    ['deleted', { phase: 'Failed' }],
  ];
  const refs = kinds.map(([name, status]) => {
    const ref = node.create(name);
    node.worker(ref, { state: 'terminated' });
    node.status(ref, status);
    if (name === 'deleted') node.server.delete({ kind: 'Pod', name });
    return ref;
  });
  // Once this is known all of it is known, since the watch reports in order.
  const last = node.create('last');
  await node.untilReceived(last);
  expect(node.writes()).toHaveLength(10);
  resolve(undefined);
  for (const { uid } of refs) await node.untilWriteState(uid, 'written');
  const names = node
    .writes()
    .slice(10)
    .map(({ name }) => name);
  expect(names).toEqual(['deleted', 'serves', 'over', 'other']);
});

test('a hundred pods that become ready at once are written once each', async () => {
  const refs = Array.from({ length: 100 }, (_, at) => node.create(`p${at}`));
  for (const ref of refs) node.status(ref, ready);
  for (const { uid } of refs) await node.untilWriteState(uid, 'written');
  expect(node.writes()).toHaveLength(100);
});

describe('failures', () => {
  const isPatch = ({ verb }: { verb: string }) => verb === 'patch';

  test.each([
    ['a conflict', { kind: 'answer', code: 409, reason: 'Conflict' }],
    ['an internal server error', { kind: 'answer', code: 500 }],
    ['too many requests', { kind: 'answer', code: 429, retryAfterSeconds: 0 }],
    ['an unavailable server', { kind: 'answer', code: 503 }],
    ['a broken connection', { kind: 'reset', after: 'request' }],
    ['a lost answer', { kind: 'reset', after: 'effect' }],
  ] as const)('%s: the status is written in the end, after few attempts', async (_, fault) => {
    const web = node.create('web');
    const injected = node.server.inject({ when: isPatch, fault, times: 2 });
    node.status(web, ready);
    await node.untilWriteState(web.uid, 'written');
    expect(node.stored(web)).toMatchObject(ready);
    expect(injected.hits).toBeGreaterThan(0);
    expect(node.writes().length).toBeLessThanOrEqual(3);
  });

  test('a status that the API server always refuses is retried less and less, and delays no other pod', async () => {
    const web = node.create('web');
    const other = node.create('other');
    const fault = { kind: 'answer', code: 422, message: 'no such phase' } as const;
    const injected = node.server.inject({ when: ({ name }) => name === 'web', fault });
    node.status(web, ready);
    await node.untilWriteState(web.uid, 'failing');
    expect(node.writeState(web.uid)?.error).toContain('no such phase');
    node.status(other, ready);
    await node.untilWriteState(other.uid, 'written');
    await node.server.waitForRequest(() => injected.hits >= 3);
    node.server.heal();
    await node.untilWriteState(web.uid, 'written');
  });

  test('a deletion that was not answered does not count as failed', async () => {
    const web = node.create('web');
    node.server.delete(deletion);
    node.server.inject({ when: ({ verb }) => verb === 'delete', fault: { kind: 'reset', after: 'effect' }, times: 1 });
    node.status(web, { phase: 'Failed' });
    node.worker(web, { state: 'finished' });
    await node.server.waitGone(deletion);
    await node.until(
      () =>
        ['deleted', undefined].includes(node.writeState(web.uid)?.state) ||
        node.writeState(web.uid)?.state === 'failing',
    );
    expect(node.writes().filter(({ verb }) => verb === 'delete').length).toBeLessThanOrEqual(2);
  });

  test('after an outage each pod is written once, with its newest status', async () => {
    const refs = Array.from({ length: 20 }, (_, at) => node.create(`p${at}`));
    for (const ref of refs) node.status(ref, { phase: 'Pending' });
    for (const { uid } of refs) await node.untilWriteState(uid, 'written');
    await node.server.pause();
    const before = node.server.requests.length;
    for (const message of ['one', 'two', 'three']) {
      for (const ref of refs) node.status(ref, { ...ready, message });
      await node.until(() =>
        refs.every(({ uid }) => ['waiting', 'failing'].includes(node.writeState(uid)?.state ?? '')),
      );
    }
    await node.server.resume();
    for (const ref of refs) await node.untilWriteState(ref.uid, 'written');
    expect(refs.map((ref) => node.stored(ref)?.message)).toEqual(refs.map(() => 'three'));
    expect(node.writes(before)).toHaveLength(20);
  });

  test('a restarted service repeats no write, and continues where the previous process was interrupted', async () => {
    const [web, api] = [node.create('web'), node.create('api')];
    node.status(web, ready);
    await node.untilWriteState(web.uid, 'written');
    await node.untilReceived(web);
    const never = new Promise(() => undefined);
    node.server.inject({ when: ({ name }) => name === 'api', fault: { kind: 'delay', until: never }, times: 1 });
    node.status(api, ready);
    await node.server.waitForRequest(({ name }) => name === 'api');
    await node.kill();
    const before = node.server.requests.length;
    node.run();
    await node.untilWriteState(api.uid, 'written');
    await node.untilWriteState(web.uid, 'written');
    expect(node.writes(before).map(line)).toEqual(['patch default/api/status 200']);
  });

  test('a late status of a deleted pod is not written to another pod of its name', async () => {
    await node.server.waitForRequest(({ verb }) => verb === 'watch');
    const old = node.create('web');
    node.status(old, ready);
    await node.untilWriteState(old.uid, 'written');
    await node.untilReceived(old);
    // The watch reports the deletion late.
    for (const watch of node.server.watches) watch.stall();
    node.server.delete(deletion, { graceSeconds: 0 });
    const web = node.create('web');
    node.status(old, { ...ready, message: 'old' });
    await node.server.waitForRequest(({ verb, status = 0 }) => verb === 'patch' && status >= 400);
    for (const watch of node.server.watches) watch.cut();
    node.status(web, { phase: 'Pending', message: 'new' });
    await node.untilWriteState(web.uid, 'written');
    expect(node.stored(web)?.message).toBe('new');
  });
});
