import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { ApiSource, ObjectCache, type TestNode, type WatchedPod, isReady, startNode } from '@kubus/harness';
import { containerStatus, toldMessages } from '../src/pod-facts.ts';
import { container, pod } from '../src/pods.ts';

/** A value that stands nowhere but in the Secret. */
const VALUE = 'marked-7f3a1c-s3cret';
const ENCODED = Buffer.from(VALUE).toString('base64');

let node: TestNode;
let api: ApiSource;
let objects: ObjectCache;

beforeAll(async () => {
  node = await startNode({ elsewhere: ['config-sources'] });
  api = await ApiSource.open(node);
  objects = await ObjectCache.open(node);
});

afterAll(async () => {
  await objects.close();
  await api.close();
  await node.stop();
});

function putSecret(resourceVersion: string): void {
  const metadata = { namespace: 'default', name: 'sec', uid: 'u', resourceVersion };
  objects.put({ kind: 'Secret', metadata, data: { token: ENCODED } });
}

/** Stores a pod, and waits until it is as wanted. */
async function run(name: string, spec: Partial<PodSpec>, isWanted: (one: WatchedPod) => boolean = isReady) {
  const { uid } = api.create(JSON.stringify(pod(name, spec))).metadata;
  return { uid, pod: await node.watch.waitForPod(name, isWanted) };
}

describe('the value of a Secret', () => {
  test('is in the container that asks for it as soon as the Secret is there, and in nothing that the node says or keeps', async () => {
    objects.putService({ namespace: 'default', name: 'kubernetes', clusterIP: '10.96.0.1', ports: [{ port: 443 }] });
    const env = [
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'sec', key: 'token' } } },
      { name: 'URL', value: 'https://$(TOKEN)@$(KUBERNETES_SERVICE_HOST)' },
    ];
    const { uid, pod: refused } = await run(
      'asking',
      { containers: [container({ name: 'main', env, envFrom: [{ prefix: 'ALL_', secretRef: { name: 'sec' } }] })] },
      (one) => containerStatus(one)?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(containerStatus(refused)?.state?.waiting?.message).toBe('secret "sec" not found');
    expect(toldMessages(node, refused, 'Failed')).toContain('Error: secret "sec" not found');
    putSecret('7');
    await node.watch.waitForPod('asking');
    const variables = [`TOKEN=${VALUE}`, `ALL_token=${VALUE}`, `URL=https://${VALUE}@10.96.0.1`];
    const environment = async () => (await node.kubus('exec', 'asking', '--', 'env')).stdout.split('\n');
    expect(await environment()).toEqual(expect.arrayContaining(variables));

    // A bridge and workers of a new life have asked for nothing anew, and a container that restarts gets it again.
    await node.restart('cri-bridge-0');
    await node.restart('pod-workers-0');
    await node.kubus('exec', 'asking', '--', 'sh', '-c', 'kill -TERM 1');
    await node.watch.waitForPod('asking', (one) => isReady(one) && containerStatus(one)?.restartCount === 1);
    expect(await environment()).toEqual(expect.arrayContaining(variables));
    await api.delete(uid);
    await node.watch.waitForNoPod('asking');

    const said = node.watch.messages.all.map(({ message }) => JSON.stringify(message.headers) + message.data);
    const creates = said.filter((text) => text.includes('runtime.cmd.CreateContainer'));
    expect(creates.some((text) => text.includes('"objects":[{"kind":"Secret"'))).toBe(true);
    for (const text of [VALUE, ENCODED]) {
      expect(said.filter((message) => message.includes(text))).toEqual([]);
      expect(await filesWith(text)).toEqual([]);
    }
  });
});

describe('a RuntimeClass', () => {
  test('runs a pod with its handler, in the pods’ network; one that does not exist is waited for', async () => {
    const { uid, pod: waiting } = await run(
      'classy',
      { runtimeClassName: 'own', overhead: { memory: '8Mi' } },
      (one) => toldMessages(node, one, 'FailedCreatePodSandBox').length > 0,
    );
    // A pass that another fact begins may tell it once more.
    expect([...new Set(toldMessages(node, waiting, 'FailedCreatePodSandBox'))]).toEqual([
      'Failed to create pod sandbox: runtimeclass.node.k8s.io "own" not found',
    ]);
    objects.putRuntimeClass({ name: 'own', handler: 'runc' });
    const { runtime } = await node.watch.waitForPod('classy');
    expect(runtime?.sandboxes).toMatchObject([{ runtimeHandler: 'kubus-runc', ips: [expect.stringMatching(/^10\./)] }]);
    await api.delete(uid);
    await node.watch.waitForNoPod('classy');
  });
});

/** What the node has written but for its runtime: states, logs and the record of its messages among it. */
async function filesWith(text: string): Promise<string[]> {
  const { config, logs, podLogs, pods, root, state } = node.dir;
  const folders = [config, logs, podLogs, pods, state('.'), join(root, 'nats')];
  const files = (await Promise.all(folders.map(filesBelow))).flat();
  const found = await Promise.all(files.map(async (file) => (await readFile(file)).includes(text)));
  expect(files.length).toBeGreaterThan(10);
  return files.filter((_, index) => found[index]);
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
