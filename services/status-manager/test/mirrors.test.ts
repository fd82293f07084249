import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { PodStatus } from '@kubus/contracts';
import type { KubeObject } from '@kubus/kube-fixture';
import { ScriptedNode, line } from './scripted-node.ts';

let node: ScriptedNode;
const name = { kind: 'Pod', name: 'web-n1' };
const HASH = 'kubernetes.io/config.mirror';
const running: PodStatus = { phase: 'Running', message: 'of the static pod' };

beforeEach(async () => {
  node = await ScriptedNode.start();
});

afterEach(() => node.close());

/** A running static pod whose mirror pod shows its status. */
async function mirrored(uid = 's1'): Promise<KubeObject> {
  node.nodeObject({});
  const web = node.manifest(uid, name.name);
  node.work(web, 'sync');
  node.worker(web, { state: 'syncing' });
  node.status(web, running);
  return untilMirror(uid);
}

/** Resolves with the mirror pod of that static pod once it shows the pod's status. */
function untilMirror(uid: string, not?: KubeObject): Promise<KubeObject> {
  return node.server.waitFor(name, ({ metadata, status }) => {
    const { annotations = {} } = metadata;
    return annotations[HASH] === uid && metadata.uid !== not?.metadata.uid && status?.['message'] === running.message;
  });
}

test('a static pod has a mirror pod that the Node object owns and that shows its status', async () => {
  const mirror = await mirrored();
  expect(mirror.metadata).toMatchObject({
    annotations: { 'kubernetes.io/config.hash': 's1', 'kubernetes.io/config.source': 'file', [HASH]: 's1' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: node.nodeUid, controller: true }],
  });
  await node.untilWriteState('s1', 'written');
  expect(node.writeState('s1')?.ref).toEqual({ namespace: 'default', name: 'web-n1', uid: mirror.metadata.uid });
  await node.until(() => node.mirror('s1') === mirror.metadata.uid);
});

test('mirror pods wait for the Node object', async () => {
  const web = node.manifest('s1', name.name);
  node.work(web, 'sync');
  node.nodeObject({ deleting: true });
  const other = node.create('other');
  node.status(other, running);
  await node.untilWriteState(other.uid, 'written');
  expect(node.writes().map(line)).toEqual(['patch default/other/status 200']);
  node.nodeObject({});
  await node.server.waitFor(name, () => true);
});

test('a mirror pod that a user deletes is created again', async () => {
  const mirror = await mirrored();
  node.server.delete(name);
  await untilMirror('s1', mirror);
  node.server.delete(name, { graceSeconds: 0 });
  await untilMirror('s1');
});

test('a changed manifest gets a mirror pod of its own when the previous pod has ended', async () => {
  const mirror = await mirrored();
  const old = node.manifest('s1', undefined);
  const [before, after] = [{ ...old, name: name.name }, node.manifest('s2', name.name)];
  node.work(before, 'kill');
  node.worker(before, { state: 'terminating' });
  // Until then the mirror pod shows how the old one ends.
  node.status(before, { ...running, message: 'ends' });
  await node.server.waitFor(
    name,
    ({ metadata, status }) => metadata.uid === mirror.metadata.uid && status?.['message'] === 'ends',
  );
  node.worker(before, { state: 'finished' });
  node.worker(before, undefined);
  node.work(after, 'sync');
  node.status(after, running);
  await untilMirror('s2');
  await node.until(() => node.mirror('s1') === undefined && node.mirror('s2') !== undefined);
});

test('a mirror pod is deleted when its static pod has ended', async () => {
  await mirrored();
  const old = { ...node.manifest('s1', undefined), name: name.name };
  node.work(old, 'kill');
  node.worker(old, { state: 'terminating' });
  node.status(old, { ...running, message: 'ends' });
  await node.server.waitFor(name, ({ status }) => status?.['message'] === 'ends');
  node.worker(old, { state: 'finished' });
  await node.server.waitGone(name);
  node.worker(old, undefined);
  await node.untilWriteState('s1', undefined);
  await node.until(() => node.mirror('s1') === undefined);
});

test('a mirror pod without a known static pod is deleted, also after a restart', async () => {
  await node.kill();
  node.nodeObject({});
  const ref = node.create(name.name, { metadata: { annotations: { [HASH]: 's0' } } });
  node.run();
  await node.server.waitGone(name);
  expect(node.writes().map(({ verb, path }) => `${verb} ${path}`)).toEqual([
    `delete /api/v1/namespaces/default/pods/${ref.name}`,
  ]);
});

test('a mirror pod without a known static pod is deleted as soon as all static pods are known', async () => {
  node.sources(['file', 'http', 'api']);
  node.create(name.name, { metadata: { annotations: { [HASH]: 's0' } } });
  await node.until(() => node.mirror('s0') !== undefined);
  expect(node.writes()).toEqual([]);
  node.sources(['file', 'api']);
  await node.server.waitGone(name);
});

test('a mirror pod whose creation was not answered is not created twice', async () => {
  node.server.inject({ when: ({ verb }) => verb === 'create', fault: { kind: 'reset', after: 'effect' }, times: 1 });
  await mirrored();
  expect(node.writes().filter(({ verb }) => verb === 'create').length).toBeLessThanOrEqual(2);
});

test('a missing namespace is reported, and the mirror pod is created once it exists', async () => {
  node.nodeObject({});
  const web = node.manifest('s1', name.name, 'later');
  node.work(web, 'sync');
  await node.untilWriteState('s1', 'failing');
  expect(node.writeState('s1')?.error).toContain('namespaces "later" not found');
  node.server.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'later' } });
  await node.server.waitFor({ ...name, namespace: 'later' }, () => true);
});

test('a mirror pod is not deleted as a finished API pod would be', async () => {
  await mirrored();
  const web = { namespace: 'default', name: name.name, uid: 's1' };
  node.status(web, { ...running, phase: 'Succeeded' });
  node.worker(web, { state: 'terminated', cleaned: true });
  await node.server.waitFor(name, ({ status }) => status?.['phase'] === 'Succeeded');
  // It may start again under its UID.
  node.worker(web, { state: 'syncing' });
  node.status(web, running);
  await node.server.waitFor(name, ({ status }) => status?.['phase'] === 'Running');
  expect(node.writes().filter(({ verb }) => verb === 'delete')).toEqual([]);
});
