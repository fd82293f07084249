import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { type TestNode, type WatchedPod, isReady } from '@kubus/harness';
import type { PodSpec } from '@kubus/contracts';
import { onNode } from './node.ts';
import { containerStatus, terminated, eventMessages } from '../../src/pod-facts.ts';
import { container, pod, shell } from '../../src/pods.ts';

/**
 * Uses the host files that a container's root can access: its volume, its hosts file, its log and its termination message.
 * Ends in its first run and keeps running in the second, when it finds its file.
 */
const line =
  'test -e /data/first && { stat -c %u:%g /data /data/first /etc/hosts; exec sleep 3600; }; ' +
  'echo written >/data/first && chown 7:7 /data/first && grep -q localhost /etc/hosts && echo said >/dev/termination-log';

const ownUsers: Partial<PodSpec> = {
  hostUsers: false,
  terminationGracePeriodSeconds: 0,
  volumes: [{ name: 'data', emptyDir: {} }],
  containers: [container({ name: 'main', command: shell(line), volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
};

const names = ['own-0', 'own-1'];

/** Whether the node's runtime supports user namespaces for pods of the Kubus handler. */
async function hasUserNamespaces(node: TestNode): Promise<boolean> {
  const { runtimeHandlers = [] } = await node.cri('Status', {});
  return runtimeHandlers.some(({ name, features }) => name === 'kubus' && features?.userNamespaces === true);
}

/** The host IDs of a process of the pod, from the kernel: `0 <hostId> <length>`. */
async function mapOf(node: TestNode, { runtime }: WatchedPod): Promise<number[]> {
  const { id = '' } = runtime?.containers.find(({ state }) => state === 'running') ?? {};
  const [, pid = ''] = new RegExp(`^${id}\\s+(\\d+)`, 'm').exec(await node.ctr('tasks', 'ls')) ?? [];
  const [users, groups] = await Promise.all(
    ['uid_map', 'gid_map'].map((map) => readFile(`/proc/${pid}/${map}`, 'utf8')),
  );
  expect(groups).toBe(users);
  return (users ?? '').trim().split(/\s+/).map(Number);
}

onNode('pods with user namespaces are isolated from each other and the machine, or refused', async (node) => {
  const able = await hasUserNamespaces(node);
  for (const name of names) await node.writeManifest(`${name}.json`, pod(name, ownUsers));
  if (!able) {
    for (const name of names) {
      const refused = await node.watch.waitForPod(
        name,
        (one) => one.status !== undefined && eventMessages(node, one, 'FailedCreatePodSandBox').length > 0,
        'refused',
      );
      expect(eventMessages(node, refused, 'FailedCreatePodSandBox')).toContain(
        "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      );
      expect([refused.status?.phase, refused.runtime]).toEqual(['Pending', undefined]);
    }
    return;
  }
  const again = (one: WatchedPod) => isReady(one) && containerStatus(one)?.restartCount === 1;
  const pods: WatchedPod[] = [];
  for (const name of names) pods.push(await node.watch.waitForPod(name, again, 'ready after its first end'));
  for (const one of pods) {
    expect(terminated(one)).toMatchObject({ exitCode: 0, message: 'said\n' });
    const range = one.work?.userNamespace;
    expect(await mapOf(node, one)).toEqual([0, range?.hostId, range?.length]);
    expect(range?.length).toBe(65_536);
    // The owner of the volume is a host user there, and a container user here.
    const volumes = join(node.dir.pods, 'pods', one.ref.uid, 'volumes');
    const [kind = ''] = await readdir(volumes);
    const { uid, gid } = await stat(join(volumes, kind, 'data/first'));
    expect([uid, gid]).toEqual([7, 7]);
    const { stdout } = await node.kubus('logs', one.ref.name);
    expect(stdout.trim().split('\n')).toEqual(['0:0', '7:7', '0:0']);
  }
  const [first, second] = pods.map(({ work }) => work?.userNamespace?.hostId ?? 0);
  expect(Math.abs((first ?? 0) - (second ?? 0))).toBeGreaterThanOrEqual(65_536);

  // Deciding and acting services may restart: the pods keep their IDs.
  await node.restart('sync-loop-0');
  await node.restart('pod-workers-0');
  const [before] = pods;
  const { id } = before?.runtime?.containers.find(({ state }) => state === 'running') ?? {};
  await node.ctr('tasks', 'kill', '--signal', 'SIGKILL', id ?? '');
  const after = await node.watch.waitForPod(
    names[0] ?? '',
    (one) => isReady(one) && containerStatus(one)?.restartCount === 2,
    'ready after a kill',
  );
  expect(await mapOf(node, after)).toEqual([0, first, 65_536]);
});
