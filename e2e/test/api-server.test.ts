import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { ContainerStatus, Pod, PodSpec } from '@kubus/contracts';
import { type ApiSource, type ObjectCache, type TestNode, type WatchedPod, isReady, poll } from '@kubus/harness';
import { sharedApiNode } from '../src/api-node.ts';
import { containerStatus, terminated, eventMessages } from '../src/pod-facts.ts';
import { container, image, pod, podRunning, shell, staying } from '../src/pods.ts';
import { type Run, runsOf } from '../src/start-account.ts';

let node: TestNode;
let api: ApiSource;
let objects: ObjectCache;

sharedApiNode((parts) => {
  ({ node, api, objects } = parts);
});

/** Stores a pod, and waits until it is as expected. */
async function run(name: string, spec: Partial<PodSpec>, isWanted: (one: WatchedPod) => boolean = isReady) {
  const { uid } = api.create(JSON.stringify(pod(name, spec))).metadata;
  return { uid, pod: await node.watch.waitForPod(name, isWanted) };
}

test('a variable from a file that an init container has written is in the container, and in no message', async () => {
  // Built in the container: it is in no manifest.
  const written = 'marked-file';
  const write = shell(`printf "TOKEN='%s-%s'\\n" marked file > /env/a`);
  const volumeMounts = [{ name: 'env', mountPath: '/env' }];
  const asking = (key: string): Partial<PodSpec> => ({
    volumes: [{ name: 'env', emptyDir: {} }],
    initContainers: [{ name: 'write', image, command: write, volumeMounts }],
    containers: [
      container({
        name: 'main',
        env: [{ name: 'T', valueFrom: { fileKeyRef: { volumeName: 'env', path: 'a', key } } }],
      }),
    ],
  });
  const { uid } = await run('from-file', asking('TOKEN'));
  const { stdout } = await node.kubus('exec', 'from-file', '--', 'sh', '-c', 'echo $T');
  expect(stdout).toBe(`${written}\n`);
  const said = node.watch.messages.all.filter(({ message }) => message.data.includes(written));
  expect(said.map(({ message }) => message.subject)).toEqual([]);

  const { uid: other, pod: refused } = await run(
    'no-key',
    asking('OTHER'),
    (one) => containerStatus(one)?.state?.waiting?.reason === 'CreateContainerConfigError',
  );
  const file = join(node.dir.pods, 'pods', other, 'volumes/kubernetes.io~empty-dir/env/a');
  expect(containerStatus(refused)?.state?.waiting?.message).toBe(
    `environment variable key "OTHER" not found in file "${file}"`,
  );
  for (const one of [uid, other]) await api.delete(one);
  for (const name of ['from-file', 'no-key']) await node.watch.waitForNoPod(name);
});

test('a pod that writes more into a volume than its limit is evicted, and its files are removed', async () => {
  const { uid, pod: evicted } = await run(
    'greedy',
    {
      volumes: [{ name: 'data', emptyDir: { sizeLimit: '1Mi' } }],
      containers: [
        container({
          name: 'main',
          command: shell('dd if=/dev/zero of=/data/file bs=1M count=2; trap : TERM; while :; do sleep 1; done'),
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
      ],
    },
    ({ status }) => status?.phase === 'Failed' && status.containerStatuses?.[0]?.state?.terminated !== undefined,
  );
  const message = 'Usage of EmptyDir volume "data" exceeds the limit "1Mi". ';
  expect(evicted.status).toMatchObject({ reason: 'Evicted', message });
  expect(eventMessages(node, evicted, 'Evicted')).toEqual([message]);
  const volumes = join(node.dir.pods, 'pods', uid, 'volumes');
  await poll('the removal of its volumes', () => Promise.resolve(existsSync(volumes) ? undefined : true));
  await api.delete(uid);
  await node.watch.waitForNoPod('greedy');
});

describe('a RuntimeClass', () => {
  test('runs a pod with its handler, in the pod network; a pod waits for a missing RuntimeClass', async () => {
    const { uid, pod: waiting } = await run(
      'classy',
      { runtimeClassName: 'own', overhead: { memory: '8Mi' } },
      (one) => eventMessages(node, one, 'FailedCreatePodSandBox').length > 0,
    );
    // A sync caused by another fact may publish it once more.
    expect([...new Set(eventMessages(node, waiting, 'FailedCreatePodSandBox'))]).toEqual([
      'Failed to create pod sandbox: runtimeclass.node.k8s.io "own" not found',
    ]);
    objects.putRuntimeClass({ name: 'own', handler: 'runc' });
    const { runtime } = await node.watch.waitForPod('classy');
    expect(runtime?.sandboxes).toMatchObject([{ runtimeHandler: 'kubus-runc', ips: [expect.stringMatching(/^10\./)] }]);
    await api.delete(uid);
    await node.watch.waitForNoPod('classy');
  });
});

function ephemeral({ status }: WatchedPod, name: string): ContainerStatus | undefined {
  return status?.ephemeralContainerStatuses?.find((one) => one.name === name);
}

/** The runs of a pod's containers, without those of its sandbox. */
async function runsOfPod(uid: string): Promise<Run[]> {
  return runsOf(await node.events.runs()).filter((run) => run.podUid === uid && run.container !== undefined);
}

test('an ephemeral container joins a running pod once, with the processes of its target, and leaves the others alone', async () => {
  const { uid, pod: before } = await run('debugged', {
    containers: [container({ name: 'main' }), container({ name: 'other' })],
  });
  const command = shell('until [ -e /end ]; do sleep 0.1; done; exit 3');
  api.addEphemeralContainer(uid, { name: 'debugger', image, command, targetContainerName: 'main' });
  const running = await node.watch.waitForPod(
    'debugged',
    (one) => ephemeral(one, 'debugger')?.state?.running !== undefined,
  );
  const first = ephemeral(running, 'debugger');
  const processes = async (name: string) => {
    const { stdout } = await node.kubus('exec', 'debugged', '-c', name, '--', 'readlink', '/proc/self/ns/pid');
    return stdout;
  };
  expect(await processes('debugger')).toBe(await processes('main'));
  expect(await processes('debugger')).not.toBe(await processes('other'));

  await node.restart('pod-workers-0');
  await node.kubus('exec', 'debugged', '-c', 'debugger', '--', 'touch', '/end');
  await node.watch.waitForPod('debugged', (one) => ephemeral(one, 'debugger')?.state?.terminated?.exitCode === 3);
  await node.restart('pod-workers-0');
  // The next one shows that the restarted worker has synced the pod.
  api.addEphemeralContainer(uid, { name: 'next', image, command: staying });
  const last = await node.watch.waitForPod('debugged', (one) => ephemeral(one, 'next')?.state?.running !== undefined);
  expect(ephemeral(last, 'debugger')).toMatchObject({ containerID: first?.containerID, restartCount: 0 });
  expect(isReady(last)).toBe(true);
  expect(last.status?.containerStatuses).toEqual(before.status?.containerStatuses);
  const names = (await runsOfPod(uid)).map((one) => one.container);
  expect(names).toEqual(['main', 'other', 'debugger', 'next']);
  await api.delete(uid);
  await node.watch.waitForNoPod('debugged');
});

test('a static pod lives beside pods of the API, follows its file, and is removed without them', async () => {
  const ready = (uid: string) =>
    node.watch.until(`pod ${uid} is ready`, () =>
      [node.watch.pod(uid)].find((one) => one !== undefined && isReady(one)),
    );
  const gone = (uid: string) =>
    node.watch.until(`no pod ${uid}`, () => (node.watch.pod(uid) === undefined ? true : undefined));
  const setStatic = (manifests: readonly object[]): Pod[] => [
    ...api.setStatic(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests })),
  ];
  const others = [
    api.create(JSON.stringify(pod(`twin-${node.name}`)), 'elsewhere'),
    api.create(JSON.stringify(pod('neighbour'))),
  ].map(({ metadata }) => metadata.uid);
  const [first] = setStatic([pod('twin')]);
  const before = await Promise.all(others.map(ready));
  const twin = await ready(first?.metadata.uid ?? '');
  expect(twin.ref).toMatchObject({ namespace: 'default', name: `twin-${node.name}` });

  const [second] = setStatic([podRunning('twin', `echo another; ${staying.at(-1) ?? ''}`)]);
  await ready(second?.metadata.uid ?? '');
  await gone(twin.ref.uid);
  const [[old], [changed]] = [await runsOfPod(twin.ref.uid), await runsOfPod(second?.metadata.uid ?? '')];
  expect(old?.exitedAt).toBeLessThan(changed?.startedAt ?? 0);
  setStatic([]);
  await gone(second?.metadata.uid ?? '');

  const after = await Promise.all(others.map(ready));
  expect(after.map(({ status }) => status?.containerStatuses)).toEqual(
    before.map(({ status }) => status?.containerStatuses),
  );
  await Promise.all(others.map((uid) => api.delete(uid)));
  await Promise.all(others.map(gone));
});

describe('a pod that ignores SIGTERM', () => {
  /** One that is deleted with a grace period much longer than the test. */
  const stubborn = (name: string, finalizers: string[] = []) => {
    const { spec } = podRunning(name, 'trap "" TERM; while :; do sleep 0.1; done') as Pod;
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name, finalizers }, spec };
    return api.create(JSON.stringify({ ...manifest, spec: { ...spec, terminationGracePeriodSeconds: 3_600 } })).metadata
      .uid;
  };
  /** The grace period in seconds of the StopContainer command, and its time. */
  const stops = (uid: string) =>
    node.watch.messages
      .ofType('runtime.cmd.StopContainer')
      .filter(({ envelope }) => envelope?.pod === uid)
      .map(({ message, at }) => ({
        at,
        seconds: (JSON.parse(message.data) as { params: { timeout?: string } }).params.timeout,
      }));

  test('is killed after a shorter grace period that is set while it terminates', async () => {
    const uid = stubborn('shortened');
    await node.watch.waitForPod('shortened');
    const deleted = api.delete(uid);
    await node.watch.until('the first stop', () => (stops(uid).length > 0 ? true : undefined));
    const ended = node.watch.waitForPod('shortened', (one) => terminated(one) !== undefined);
    await api.delete(uid, 3);
    await deleted;
    expect(terminated(await ended)).toMatchObject({ exitCode: 137, reason: 'Error' });
    expect(stops(uid).map(({ seconds }) => seconds)).toEqual(['3600', '3']);
    const [one, ...more] = await runsOfPod(uid);
    expect(more).toEqual([]);
    expect(one?.exitedAt).toBeGreaterThan(stops(uid)[1]?.at ?? Infinity);
    await node.watch.waitForNoPod('shortened');
  });

  test('is killed after the minimum grace period if it has none', async () => {
    const uid = stubborn('hurried', ['example.test/kept']);
    await node.watch.waitForPod('hurried');
    const ended = node.watch.waitForPod('hurried', (one) => terminated(one) !== undefined);
    await api.delete(uid, 0);
    expect(terminated(await ended)?.exitCode).toBe(137);
    expect(stops(uid).map(({ seconds }) => seconds)).toEqual(['2']);
    await node.watch.waitForNoPod('hurried');
  });
});
