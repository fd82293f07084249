import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Pod, PodSpec } from '@kubus/contracts';
import { type TestNode, TestRegistry, type WatchedPod, isReady, registryLogin, startNode } from '@kubus/harness';
import { TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { buildBusybox } from '@kubus/node-images';
import { containerStatus, terminated, eventMessages, waitingReason } from '../src/pod-facts.ts';
import { container, pod, staying } from '../src/pods.ts';
import { placesOf } from '../src/value-search.ts';

/** A value that exists only in an object of the API server, as plain text and as in a Secret. */
const marks = {
  key: 'marked-key-7f3a1c',
  all: 'marked-all-92be05',
  config: 'marked-config-c41d77',
  broken: 'marked-broken-5d0e3b',
};
const base64 = (text: string) => Buffer.from(text).toString('base64');
const { username, password } = registryLogin;
const REGISTRY_PORT = 5001;

let api: TestApiServer;
let node: TestNode;
let registry: TestRegistry;

beforeAll(async () => {
  api = await TestApiServer.start();
  node = await startNode({ kubeconfig: (name) => api.kubeconfig(nodeUser(name)) });
  registry = await TestRegistry.start(node, { port: REGISTRY_PORT, login: true });
});

afterAll(async () => {
  await (node as TestNode | undefined)?.stop();
  await (api as TestApiServer | undefined)?.close();
});

function put(kind: string, name: string, content: object): void {
  api.create({ apiVersion: 'v1', kind, metadata: { name }, ...content });
}

/** Binds a pod to the node, and waits until it is as expected there. */
async function run(
  name: string,
  spec: Partial<PodSpec>,
  isWanted: (one: WatchedPod) => boolean = isReady,
): Promise<WatchedPod> {
  const made = pod(name, spec) as Pod;
  put('Pod', name, { spec: { ...made.spec, nodeName: node.name } });
  return node.watch.waitForPod(name, isWanted);
}

const logins = (secret: string) => ({ auths: { [registry.host]: { username, password: secret } } });
const pullSecret = (name: string, text: string) =>
  put('Secret', name, {
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': base64(text) },
  });

/** Pushes a unique image to the registry; returns its name. */
async function push(repository: string): Promise<string> {
  const reference = `${registry.host}/${repository}:1`;
  return registry.push(await buildBusybox({ reference, labels: { reference } }, node.folder), repository, '1');
}

/** Everything that the node has sent to the API server. */
function toldToTheApi(): string {
  return JSON.stringify(['Pod', 'Event', 'Node'].map((kind) => api.list(kind)));
}

async function expectNowhere(...texts: string[]): Promise<void> {
  const all = texts.flatMap((text) => [text, base64(text)]);
  expect(await placesOf(node, all)).toEqual([]);
  for (const text of all) expect(toldToTheApi()).not.toContain(text);
}

const variables = async (name: string) => (await node.kubus('exec', name, '--', 'env')).stdout.split('\n');

test('secret values reach the containers that use them as soon as they exist, and nothing that the node publishes or keeps', async () => {
  put('Service', 'kubernetes', { spec: { clusterIP: '10.96.0.1', ports: [{ port: 443 }] } });
  put('ConfigMap', 'settings', { data: { MODE: marks.config } });
  put('Secret', 'all', { data: { more: base64(marks.all) } });
  const env = [
    { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'key', key: 'token' } } },
    { name: 'URL', value: 'https://$(TOKEN)@$(KUBERNETES_SERVICE_HOST)' },
  ];
  const envFrom = [{ prefix: 'ALL_', secretRef: { name: 'all' } }, { configMapRef: { name: 'settings' } }];
  const command = [...staying, '$(TOKEN)'];
  const refused = await run(
    'using',
    { containers: [container({ name: 'main', env, envFrom, command, args: ['$(MODE)'] })] },
    (one) => waitingReason(one) === 'CreateContainerConfigError',
  );
  expect(containerStatus(refused)?.state?.waiting?.message).toBe('secret "key" not found');
  expect(eventMessages(node, refused, 'Failed')).toContain('Error: secret "key" not found');
  put('Secret', 'key', { data: { token: base64(marks.key) } });
  await node.watch.waitForPod('using');
  const wanted = [
    `TOKEN=${marks.key}`,
    `URL=https://${marks.key}@10.96.0.1`,
    `ALL_more=${marks.all}`,
    `MODE=${marks.config}`,
  ];
  expect(await variables('using')).toEqual(expect.arrayContaining(wanted));
  const { stdout } = await node.kubus('exec', 'using', '--', 'cat', '/proc/1/cmdline');
  expect(stdout).toContain(`${marks.key}\0${marks.config}`);

  // Restarted services without cached values, and a container that restarts during an outage of the API server.
  await node.restart('cri-bridge-0');
  await node.restart('pod-workers-0');
  await api.pause();
  await node.kubus('exec', 'using', '--', 'sh', '-c', 'kill -TERM 1');
  await node.watch.waitForPod('using', (one) => isReady(one) && containerStatus(one)?.restartCount === 1);
  expect(await variables('using')).toEqual(expect.arrayContaining(wanted));
  await api.resume();
  // A restarted object-cache reads everything again.
  await node.restart('object-cache-0');
  await run('later', { containers: [container({ name: 'main', env })] });
  expect(await variables('later')).toContain(`TOKEN=${marks.key}`);

  const said = node.watch.messages.all.map(({ message }) => message.data);
  expect(said.some((text) => text.includes('"objects":[{"kind":"Secret"'))).toBe(true);
  await expectNowhere(marks.key, marks.all, marks.config);
  // The search is effective: it finds existing values anywhere.
  const kinds = (await placesOf(node, ['using', 'node.json', 'kubus_bus_published_total'])).map(
    (found) => found.split(' ')[0],
  );
  expect([...new Set(kinds)].sort()).toEqual(['command', 'file', 'message', 'metrics']);
});

test('credentials of pull Secrets give access to an image, and are published nowhere; nor is an invalid one', async () => {
  const name = await push('private/app');
  pullSecret('login', JSON.stringify(logins(password)));
  pullSecret('broken', `{"auths": ${marks.broken}`);
  const pulling = (secret: string): Partial<PodSpec> => ({
    imagePullSecrets: [{ name: secret }],
    containers: [container({ name: 'main', image: name, imagePullPolicy: 'Always' })],
  });
  const broken = await run('broken', pulling('broken'), (one) => waitingReason(one) === 'ErrImagePull');
  expect(containerStatus(broken)?.state?.waiting?.message).toContain(
    'Secret default/broken is not a docker configuration',
  );
  await run('pulled', pulling('login'));
  await expectNowhere(password, marks.broken, `${username}:${password}`);
});

test('a credential provider receives a token of the pod, which is published nowhere', async () => {
  const name = await push('private/plugged');
  const folder = join(node.folder, 'providers');
  await mkdir(folder);
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  const answer = {
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Registry',
    auth: logins(password).auths,
  };
  await writeFile(join(folder, 'answer.json'), JSON.stringify(answer));
  await writeFile(join(folder, 'login'), `#!/bin/sh\ncat >> ${folder}/asked\ncat ${folder}/answer.json\n`, {
    mode: 0o755,
  });
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [
      {
        ...{
          name: 'login',
          matchImages: [`127.0.0.1:${REGISTRY_PORT}/private`],
          defaultCacheDuration: '1h',
          apiVersion,
        },
        tokenAttributes: {
          serviceAccountTokenAudience: 'registry',
          cacheType: 'ServiceAccount',
          requireServiceAccount: true,
        },
      },
    ],
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await node.reconfigure((now) => ({
    ...now,
    images: { ...now.images, providers: { config: join(folder, 'config.json'), binDir: folder } },
  }));
  await node.restart('cri-bridge-0');
  put('ServiceAccount', 'puller', {});
  const spec = { containers: [container({ name: 'main', image: name })] };
  const { ref } = await run('plugged', { ...spec, serviceAccountName: 'puller' });
  const asked = JSON.parse(await readFile(join(folder, 'asked'), 'utf8')) as { serviceAccountToken: string };
  const { serviceAccountToken: token } = asked;
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
  expect(claims).toMatchObject({
    aud: ['registry'],
    sub: 'system:serviceaccount:default:puller',
    'kubernetes.io': { pod: { name: 'plugged', uid: ref.uid } },
  });
  // Access of one service account is not given to a pod with another one.
  put('ServiceAccount', 'other', {});
  const isRefused = (one: WatchedPod) => waitingReason(one) === 'ErrImagePull';
  api.inject({
    when: ({ plural, name: account }) => plural === 'serviceaccounts' && account === 'other',
    fault: { kind: 'answer', code: 403 },
  });
  await run('another', { ...spec, serviceAccountName: 'other' }, isRefused);
  await run('sibling', { ...spec, serviceAccountName: 'puller' });
  await expectNowhere(token, password);
});

test('a runtime error about a command that contains a secret value is published without the value', async () => {
  const mark = 'marked-command-08ac4f';
  put('Secret', 'command', { data: { program: base64(mark) } });
  const env = [{ name: 'PROGRAM', valueFrom: { secretKeyRef: { name: 'command', key: 'program' } } }];
  const failing = await run(
    'failing',
    { containers: [container({ name: 'main', env, command: ['$(PROGRAM)'] })] },
    (one) => containerStatus(one)?.restartCount === 1,
  );
  expect(terminated(failing)?.message).toContain('exec: "<redacted>"');
  await expectNowhere(mark);
});
