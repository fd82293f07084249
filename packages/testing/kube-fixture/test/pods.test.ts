import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

describe('a new pod', () => {
  test('has the defaults of the API and of admission', async () => {
    const pod = await judged.pod('defaults', {
      containers: [
        {
          name: 'c',
          image: 'busybox',
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: '0.5', memory: '64Mi' } },
          readinessProbe: { httpGet: { port: 80 } },
        },
      ],
      volumes: [{ name: 'e', emptyDir: {} }],
    });
    const { managedFields: _, ...metadata } = pod.metadata;
    expect({ ...pod, metadata }).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'defaults',
        namespace: judged.namespace,
        uid: expect.any(String),
        resourceVersion: expect.any(String),
        creationTimestamp: expect.any(String),
        generation: 1,
      },
      spec: {
        nodeName: judged.node,
        containers: [
          {
            name: 'c',
            image: 'busybox',
            imagePullPolicy: 'Always',
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            resources: { limits: { cpu: '500m', memory: '64Mi' }, requests: { cpu: '500m', memory: '64Mi' } },
            readinessProbe: {
              httpGet: { path: '/', port: 80, scheme: 'HTTP' },
              timeoutSeconds: 1,
              periodSeconds: 10,
              successThreshold: 1,
              failureThreshold: 3,
            },
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
          },
        ],
        volumes: [{ name: 'e', emptyDir: {} }],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
        tolerations: ['not-ready', 'unreachable'].map((taint) => ({
          key: `node.kubernetes.io/${taint}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 300,
        })),
        priority: 0,
        enableServiceLinks: true,
        preemptionPolicy: 'PreemptLowerPriority',
      },
      status: { phase: 'Pending', qosClass: 'Guaranteed' },
    });
  });

  test('that tolerates everything gets no further tolerations; a critical one gets its priority', async () => {
    const { spec } = await judged.pod('tolerant', {
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      priorityClassName: 'system-node-critical',
    });
    expect(spec).toMatchObject({ tolerations: [{ operator: 'Exists', effect: 'NoExecute' }], priority: 2_000_001_000 });
    expect(spec?.['tolerations']).toHaveLength(1);
  });

  test('loses a status given by its creator, and has every resource field', async () => {
    const body = { ...judged.podObject('statusless'), status: { phase: 'Running' } };
    const pod = await judged.cluster.create(body);
    expect(pod.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    expect(pod.spec?.['containers']).toMatchObject([{ resources: {} }]);
  });

  test.each<[string, JsonObject, number, string, RegExp]>([
    [
      'without containers',
      { containers: [] },
      422,
      'Invalid',
      /^Pod "bad" is invalid: spec.containers: Required value/,
    ],
    [
      'of a missing class',
      { priorityClassName: 'none' },
      403,
      'Forbidden',
      /^pods "bad" is forbidden: no PriorityClass with name none was found$/,
    ],
    [
      'of a missing runtime class',
      { runtimeClassName: 'none' },
      403,
      'Forbidden',
      /^pods "bad" is forbidden: pod rejected: RuntimeClass "none" not found$/,
    ],
    ['of wrong types', { containers: 'none' }, 400, 'BadRequest', /^Pod in version "v1" cannot be handled as a Pod: /],
  ])('is refused: %s', async (_what, spec, code, reason, message) => {
    const answer = await judged.send('POST', 'pods', judged.podObject('bad', spec));
    expect(answer).toMatchObject(refused(code, reason, message));
  });
});

describe('a change of a pod', () => {
  test('of its image increments the generation; of its labels does not', async () => {
    await judged.pod('image');
    const labelled = await judged.cluster.patch(judged.named('image'), { metadata: { labels: { a: 'b' } } });
    expect(labelled.metadata.generation).toBe(1);
    const patch = { spec: { containers: [{ name: 'c', image: 'busybox:2' }] } };
    const changed = await judged.cluster.patch(judged.named('image'), patch, { kind: 'strategic-merge' });
    expect(changed.metadata.generation).toBe(2);
    expect(changed.spec?.['containers']).toMatchObject([{ image: 'busybox:2', imagePullPolicy: 'IfNotPresent' }]);
  });

  test.each<[string, JsonObject]>([
    ['restart policy', { restartPolicy: 'Never' }],
    ['host network', { hostNetwork: true }],
    ['resources', { containers: [{ name: 'c', resources: { requests: { cpu: '1m' } } }] }],
    ['environment', { containers: [{ name: 'c', env: [{ name: 'A', value: 'b' }] }] }],
    ['ephemeral containers', { ephemeralContainers: [{ name: 'e', image: 'busybox' }] }],
  ])('is refused: %s', async (what, spec) => {
    const name = `fixed-${what.replace(' ', '-')}`;
    await judged.pod(name);
    const answer = await judged.patch(judged.path(`pods/${name}`), 'strategic-merge', { spec });
    const message = new RegExp(
      `^Pod "${name}" is invalid: spec: Forbidden: pod updates may not change fields other than `,
    );
    expect(answer).toMatchObject(refused(422, 'Invalid', message));
  });

  test.each<[string, string, JsonObject, RegExp]>([
    [
      'another container',
      '',
      { containers: [{ name: 'c' }, { name: 'more', image: 'busybox:1' }] },
      /: spec.containers: Forbidden: pod updates may not add or remove containers$/,
    ],
    [
      'another toleration',
      '',
      { tolerations: [{ key: 'other', operator: 'Exists' }] },
      /: spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds$/,
    ],
    [
      'a later deadline',
      '',
      { activeDeadlineSeconds: 101 },
      /: spec.activeDeadlineSeconds: Invalid value: 101: must be less than or equal to previous value$/,
    ],
    [
      'an ephemeral container with a port',
      'ephemeralcontainers',
      { ephemeralContainers: [{ name: 'e', image: 'busybox', ports: [{ containerPort: 80 }] }] },
      /: spec.ephemeralContainers\[0\].ports: Forbidden: cannot be set for an Ephemeral Container$/,
    ],
    [
      'a resize without the request',
      'resize',
      { containers: [{ name: 'c', resources: { requests: { cpu: null, memory: '1Mi' } } }] },
      /spec.containers\[0\].resources.requests: Forbidden: resource requests cannot be removed/,
    ],
    [
      'a resize with another container',
      'resize',
      { containers: [{ name: 'c' }, { name: 'more', image: 'busybox:1' }] },
      /: spec.containers: Forbidden: containers may not be added or removed on resize$/,
    ],
  ])('is refused with the field: %s', async (what, subresource, spec, message) => {
    const name = what.replaceAll(' ', '-');
    const resources = { requests: { cpu: '100m' } };
    await judged.pod(name, {
      containers: [{ name: 'c', image: 'busybox:1', resources }],
      activeDeadlineSeconds: 100,
      tolerations: [{ key: 'own', operator: 'Exists' }],
    });
    const path = judged.path(['pods', name, ...(subresource === '' ? [] : [subresource])].join('/'));
    const answer = await judged.patch(path, 'strategic-merge', { spec });
    expect(answer).toMatchObject(refused(422, 'Invalid', message));
  });

  test('does not change the status', async () => {
    const pod = await judged.pod('main');
    await judged.status('main', { status: { phase: 'Running' } });
    const { metadata } = (await judged.cluster.get(judged.named('main'))) ?? pod;
    const changed = await judged.cluster.update({ ...pod, metadata, status: { phase: 'Failed' } });
    expect(changed.status?.['phase']).toBe('Running');
  });

  test('may add ephemeral containers through their subresource', async () => {
    await judged.pod('debugged');
    const patch = { spec: { ephemeralContainers: [{ name: 'e', image: 'busybox' }], restartPolicy: 'Never' } };
    const path = judged.path('pods/debugged/ephemeralcontainers');
    const { code, body } = await judged.patch(path, 'strategic-merge', patch);
    expect({ code, kind: body['kind'] }).toEqual({ code: 200, kind: 'Pod' });
    const pod = await judged.cluster.get(judged.named('debugged'));
    expect(pod?.spec?.['ephemeralContainers']).toMatchObject([{ name: 'e', terminationMessagePolicy: 'File' }]);
    expect(pod?.spec?.['restartPolicy']).toBe('Always');
    expect(pod?.metadata.generation).toBe(2);
  });

  test('may change resources through their subresource', async () => {
    const resources = { requests: { cpu: '100m' } };
    const status = { allocatable: { cpu: '1' }, capacity: { cpu: '1' } };
    await judged.cluster.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: judged.node }, status });
    await judged.pod('resized', { containers: [{ name: 'c', image: 'busybox:1', resources }] });
    const patch = {
      spec: { containers: [{ name: 'c', image: 'busybox:2', resources: { requests: { cpu: '200m' } } }] },
    };
    const { code } = await judged.patch(judged.path('pods/resized/resize'), 'strategic-merge', patch);
    expect(code).toBe(200);
    const pod = await judged.cluster.get(judged.named('resized'));
    expect(pod?.spec?.['containers']).toMatchObject([{ image: 'busybox:1', resources: { requests: { cpu: '200m' } } }]);
    expect(pod?.metadata.generation).toBe(2);
  });
});

test('a pod can be bound only once', async () => {
  await judged.pod('bound', { nodeName: '' });
  const bind = () =>
    judged.send('POST', 'pods/bound/binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'bound' },
      target: { apiVersion: 'v1', kind: 'Node', name: judged.node },
    });
  expect(await bind()).toMatchObject({ code: 201, body: { kind: 'Status', status: 'Success' } });
  const pod = await judged.cluster.get(judged.named('bound'));
  expect(pod).toMatchObject({ metadata: { generation: 1 }, spec: { nodeName: judged.node } });
  expect(await bind()).toMatchObject(refused(409, 'Conflict', /pod bound is already assigned to node/));
});

test('the log of a pod is of a container that it has, and empty before it has a node', async () => {
  const named = (...names: string[]) => names.map((name) => ({ name, image: 'busybox:1' }));
  await judged.pod('several', { nodeName: '', initContainers: named('first'), containers: named('one', 'two') });
  const log = async (container?: string) =>
    judged.cluster.raw('GET', judged.path('pods/several/log'), container === undefined ? {} : { query: { container } });
  const choose = /^a container name must be specified for pod several, choose one of: \[first one two\]$/;
  expect(await log()).toMatchObject(refused(400, 'BadRequest', choose));
  const message = /^container three is not valid for pod several$/;
  expect(await log('three')).toMatchObject(refused(400, 'BadRequest', message));
  expect(await log('two')).toMatchObject({ code: 204, body: { text: '' } });
});
