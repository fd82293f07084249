import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type AnyCommand,
  type BusCriMethod,
  type CriRequest,
  commandSubject,
  criCommands,
  pullImage,
} from '@kubus/contracts';
import { KubusError } from '@kubus/ports';
import { ScriptedCluster, apiPodOf } from './scripted-cluster.ts';
import { NODE, ScriptedNode, podOf } from './scripted-node.ts';

const secret = { kind: 'Secret', namespace: 'default', name: 'sec' } as const;
const configMap = { kind: 'ConfigMap', namespace: 'default', name: 'cm' } as const;
const fromSecret = (optional?: boolean) => ({
  env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'sec', key: 'token', optional } } }],
});
const fromConfigMap = { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k' } } }] };

let node: ScriptedNode;
let cluster: ScriptedCluster;

beforeEach(async () => {
  node = new ScriptedNode();
  cluster = new ScriptedCluster(node);
  await node.start();
});

/** The requests of a command for the pod `a`. */
function requests(command: AnyCommand): unknown[] {
  const subject = commandSubject(NODE, command, 'a', { service: 'pod-workers', instance: 'pod-workers-0' });
  return node.broker.said
    .filter((message) => message.subject === subject)
    .map(({ data }) => JSON.parse(data) as unknown);
}

/** The requests that the bridge passed to the runtime. */
function asked<M extends BusCriMethod>(method: M): CriRequest<M>[] {
  return requests(criCommands[method]) as CriRequest<M>[];
}

const created = () => node.bridge.done.filter((what) => what.startsWith('CreateContainer'));
const variables = () => node.bridge.configs.get('main')?.envs?.map(({ key, value = '' }) => `${key}=${atob(value)}`);
const waiting = () => node.status('a')?.containerStatuses?.[0]?.state?.waiting;

describe('a pod of the API server', () => {
  beforeEach(() => cluster.sources('file', 'api'));

  test('waits until its objects and the services are known, and then starts at once', async () => {
    await node.work(apiPodOf('a', {}, { ...fromSecret(), command: ['run', '$(TOKEN)'] }));
    expect(node.state('a')?.error).toBe('not yet read from the API server: Secret/default/sec');
    await cluster.has(secret, { token: 's3cret' }, '7');
    expect(node.state('a')?.error).toBe('services have not yet been read at least once, cannot construct envvars');
    expect([node.bridge.done, waiting()]).toEqual([[], { reason: 'ContainerCreating' }]);
    const ports = [{ name: 'https', port: 443 }];
    await cluster.hasService({ name: 'kubernetes', namespace: 'default', clusterIP: '10.0.0.1', ports });
    expect(node.status('a')?.phase).toBe('Running');
    expect(variables()).toEqual(
      expect.arrayContaining(['TOKEN=s3cret', 'KUBERNETES_SERVICE_HOST=10.0.0.1', 'KUBERNETES_SERVICE_PORT_HTTPS=443']),
    );
    expect(node.bridge.configs.get('main')?.command).toEqual(['run', 's3cret']);
    expect(asked('CreateContainer')[0]?.process?.objects).toEqual([{ ...secret, version: '7' }]);
    expect(node.broker.said.filter(({ data }) => data.includes('s3cret'))).toEqual([]);
  });

  test('also waits for the services of its namespace, unless it uses none of them', async () => {
    const elsewhere = (uid: string, spec = {}) => {
      const pod = apiPodOf(uid, spec);
      return { ...pod, metadata: { ...pod.metadata, namespace: 'team' } };
    };
    await cluster.read();
    await node.work(elsewhere('a'));
    await node.work(elsewhere('b', { enableServiceLinks: false }));
    expect([node.status('a')?.phase, node.status('b')?.phase]).toEqual(['Pending', 'Running']);
    await cluster.readServices('team');
    expect(node.status('a')?.phase).toBe('Running');
  });

  test.each<[string, object, () => Promise<void>]>([
    ['secret "sec" not found', fromSecret(), () => cluster.misses(secret)],
    ['configmap "cm" not found', fromConfigMap, () => cluster.misses(configMap)],
    ["couldn't find key token in Secret default/sec", fromSecret(), () => cluster.has(secret, { other: '' })],
    ["couldn't find key k in ConfigMap default/cm", fromConfigMap, () => cluster.has(configMap, {})],
    ['configmap "cm" not found', { envFrom: [{ configMapRef: { name: 'cm' } }] }, () => cluster.misses(configMap)],
    [
      'secrets "sec" is forbidden: no',
      fromSecret(true),
      () => cluster.refuses(secret, 'secrets "sec" is forbidden: no'),
    ],
  ])('that lacks a required object waits with the reason: %s', async (message, container, say) => {
    await cluster.read();
    await say();
    await node.work(apiPodOf('a', {}, container));
    expect(waiting()).toEqual({ reason: 'CreateContainerConfigError', message });
    expect(node.events('a')).toEqual([
      'Pulled: Container image "busybox" already present on machine and can be accessed by the pod',
      `Failed: Error: ${message}`,
    ]);
    expect(created()).toEqual([]);
  });

  test('starts as soon as the missing object exists', async () => {
    await cluster.read();
    await cluster.misses(secret);
    await node.work(apiPodOf('a', {}, fromSecret()));
    await node.work(apiPodOf('b', {}, fromConfigMap));
    await cluster.has(secret, { token: 's3cret' });
    expect(node.status('a')?.phase).toBe('Running');
    expect(node.status('b')?.phase).toBe('Pending');
  });

  test('starts without optional objects', async () => {
    await cluster.read();
    await cluster.misses(secret);
    await cluster.has(configMap, { A: '1', 'odd.name': '2' });
    const envFrom = [{ prefix: 'P_', configMapRef: { name: 'cm' } }, { secretRef: { name: 'sec', optional: true } }];
    await node.work(apiPodOf('a', {}, { ...fromSecret(true), envFrom }));
    expect(variables()).toEqual(['P_A=1', 'P_odd.name=2']);
    expect(asked('CreateContainer')[0]?.process?.objects).toEqual([{ ...configMap, version: '1' }]);
  });

  test.each([
    ['has changed before the call', 'ObjectChanged', (): Promise<void> => cluster.has(secret, { token: 'new' }, '2')],
    ['could not be read', 'ObjectsUnavailable', (): Promise<void> => node.pass(15_000)],
  ])('does not fail when an object %s', async (_what, code, then) => {
    await cluster.read();
    await cluster.has(secret, { token: 'old' });
    node.bridge.before = (what) => {
      if (!what.startsWith('CreateContainer')) return Promise.resolve();
      node.bridge.before = () => Promise.resolve();
      return Promise.reject(new KubusError(code, 'not now'));
    };
    await node.work(apiPodOf('a', {}, fromSecret()));
    expect([created(), waiting()?.reason, node.state('a')?.error]).toEqual([[], 'ContainerCreating', 'not now']);
    await then();
    expect(created()).toHaveLength(1);
    expect(node.events('a').filter((event) => event.startsWith('Failed'))).toEqual([]);
  });

  test('waits without a failed pull when its registry token is unavailable', async () => {
    await cluster.read();
    node.bridge.before = (what) => {
      if (!what.startsWith('pullImage')) return Promise.resolve();
      node.bridge.before = () => Promise.resolve();
      return Promise.reject(new KubusError('ObjectsUnavailable', 'not now'));
    };
    await node.work(apiPodOf('a', { serviceAccountName: 'robot' }, { image: 'registry/app:1' }));
    expect([waiting()?.reason, node.state('a')?.error]).toEqual(['ContainerCreating', 'not now']);
    await node.pass(15_000);
    expect(requests(pullImage as AnyCommand)).toMatchObject([{ serviceAccount: 'robot' }, { serviceAccount: 'robot' }]);
    expect(node.events('a').filter((event) => event.startsWith('Failed'))).toEqual([]);
    expect(node.status('a')?.phase).toBe('Running');
  });

  test('has its images pulled with its Secrets, and an event for a missing one', async () => {
    await cluster.read();
    await cluster.has(secret, {}, '3');
    await cluster.misses({ ...secret, name: 'gone' });
    const imagePullSecrets = [{ name: 'gone' }, { name: 'sec' }];
    await node.work(apiPodOf('a', { imagePullSecrets }, { image: 'registry/app:1' }));
    expect(requests(pullImage as AnyCommand)).toMatchObject([
      { image: 'registry/app:1', pullSecrets: [{ ...secret, version: '3' }] },
    ]);
    expect(node.events('a')[0]).toBe(
      'FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.',
    );
    expect(node.status('a')?.phase).toBe('Running');
  });
});

describe('a static pod', () => {
  test('waits for no objects, and uses the services that are known', async () => {
    await cluster.sources('file', 'api');
    await cluster.hasService({
      name: 'kubernetes',
      namespace: 'default',
      clusterIP: '10.0.0.1',
      ports: [{ port: 443 }],
    });
    await node.work(podOf('a'));
    expect(variables()).toContain('KUBERNETES_SERVICE_HOST=10.0.0.1');
  });
});

describe('a RuntimeClass', () => {
  const ofClass = { runtimeClassName: 'sandboxed' };

  test('sets the runtime handler of the sandbox', async () => {
    await cluster.sources('api');
    await cluster.hasClass('sandboxed', 'vm');
    await node.work(podOf('a', ofClass));
    expect(asked('RunPodSandbox').map(({ params }) => params.runtimeHandler)).toEqual(['vm']);
  });

  test('that does not exist keeps the pod from starting until it does', async () => {
    await cluster.sources('api');
    await node.work(podOf('a', ofClass));
    expect(node.state('a')?.error).toBe('not yet read from the API server: RuntimeClass sandboxed');
    expect(node.events('a')).toEqual([]);
    await cluster.read();
    const reason = 'Failed to create pod sandbox: runtimeclass.node.k8s.io "sandboxed" not found';
    expect(node.events('a')).toEqual([`FailedCreatePodSandBox: ${reason}`]);
    expect([node.status('a')?.phase, waiting()?.reason]).toEqual(['Pending', 'ContainerCreating']);
    await cluster.hasClass('sandboxed', 'vm');
    expect(node.status('a')?.phase).toBe('Running');
  });

  test('is ignored on a node without an API server', async () => {
    await cluster.sources('file');
    await node.work(podOf('a', ofClass));
    expect(asked('RunPodSandbox').map(({ params }) => params.runtimeHandler)).toEqual([undefined]);
  });
});
