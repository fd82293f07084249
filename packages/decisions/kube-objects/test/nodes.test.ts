import { describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject, isAllowed, placementOf, tableFor, taintsOf } from '../src/index.ts';

const meta = (name: string, more: object = {}) => ({
  ...{ name, uid: name, resourceVersion: '1', creationTimestamp: '2030-01-01T00:00:00Z' },
  ...more,
});
const node = (name: string, spec: JsonObject = {}, labels: Record<string, string> = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: meta(name, { labels }), spec },
  status: { allocatable: { pods: '2' }, conditions: [{ type: 'Ready', status: 'True' }] },
});
const pod = (spec: JsonObject = {}): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: meta('web'), spec });
const required = (...nodeSelectorTerms: JsonObject[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

const TAINTED = { taints: [{ key: 'gpu', value: 'a', effect: 'NoSchedule' }] };
const DISK = { disk: 'ssd', size: '5' };

describe('a pod gets the node', () => {
  test.each<[string, JsonObject, KubeObject]>([
    ['that is there', {}, node('n')],
    ['with a taint that only prefers others', {}, node('n', { taints: [{ key: 'a', effect: 'PreferNoSchedule' }] })],
    ['whose taint it tolerates', { tolerations: [{ key: 'gpu', value: 'a' }] }, node('n', TAINTED)],
    ['whose taints it tolerates, all', { tolerations: [{ operator: 'Exists' }] }, node('n', { unschedulable: true })],
    ['that its selector names', { nodeSelector: { disk: 'ssd' } }, node('n', {}, DISK)],
    [
      'that one of its terms names',
      required(expression('a', 'Exists'), expression('disk', 'In', 'ssd')),
      node('n', {}, DISK),
    ],
    ['without a label', required(expression('a', 'DoesNotExist')), node('n', {}, DISK)],
    ['with another value', required(expression('disk', 'NotIn', 'hdd')), node('n', {}, DISK)],
    ['with more', required(expression('size', 'Gt', '4')), node('n', {}, DISK)],
    ['with less', required(expression('size', 'Lt', '6')), node('n', {}, DISK)],
  ])('%s', (_, spec, only) => {
    expect(placementOf(pod(spec), [only], () => 0)).toEqual({ node: 'n' });
  });
});

describe('a pod without a node says why', () => {
  const why = (reason: string) =>
    `0/1 nodes are available: 1 ${reason}. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`;
  const affinity = "node(s) didn't match Pod's node affinity/selector";
  test.each<[JsonObject, KubeObject, string]>([
    [{}, node('n', { unschedulable: true }), 'node(s) were unschedulable'],
    [{}, node('n', TAINTED), 'node(s) had untolerated taint(s)'],
    [{ tolerations: [{ key: 'gpu', value: 'b' }] }, node('n', TAINTED), 'node(s) had untolerated taint(s)'],
    [{ nodeSelector: { disk: 'hdd' } }, node('n', {}, DISK), affinity],
    [required({}), node('n', {}, DISK), affinity],
    [required(expression('disk', 'Other')), node('n', {}, DISK), affinity],
  ])('%j', (spec, only, reason) => {
    expect(placementOf(pod(spec), [only], () => 0)).toEqual({ message: why(reason) });
  });

  test('when the node is full', () => {
    expect(placementOf(pod(), [node('n')], () => 2)).toEqual({ message: why('Too many pods') });
  });

  test('when there is none', () => {
    expect(placementOf(pod(), [], () => 0)).toEqual({ message: 'no nodes available to schedule pods' });
  });
});

describe('the taints of a node', () => {
  const withConditions = (one: KubeObject, ...conditions: JsonObject[]): KubeObject => ({
    ...one,
    status: { conditions },
  });
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  test('follow its conditions and cordon, and leave those of others', () => {
    const own = { key: 'gpu', effect: 'NoSchedule' };
    const fresh = node('n', { taints: [own, notReady] });
    expect(taintsOf(fresh)).toEqual([own]);
    expect(taintsOf(node('n', { taints: [own] }))).toBeUndefined();
    expect(taintsOf(withConditions(fresh, { type: 'Ready', status: 'False' }))).toBeUndefined();
    const cordoned = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
    expect(taintsOf(node('n', { unschedulable: true }))).toEqual([cordoned]);
    const full = withConditions(node('n'), { type: 'DiskPressure', status: 'True' });
    expect(taintsOf(full)).toEqual([{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }]);
  });

  test('stay as registered until it has said how it is', () => {
    expect(taintsOf(withConditions(node('n', { taints: [notReady] })))).toBeUndefined();
  });
});

describe('access', () => {
  const request = (
    groups: string[],
    verb: string,
    resource: string,
    more: { group?: string; subresource?: string } = {},
  ) =>
    isAllowed({
      ...{ verb, resource, group: '', subresource: '', ...more },
      user: { username: 'system:node:n', groups: [...groups, 'system:authenticated'] },
    });
  const nodes = ['system:nodes'];
  test.each<[boolean, string[], string, string, { group?: string; subresource?: string }?]>([
    [true, ['system:masters'], 'delete', 'nodes'],
    [true, nodes, 'create', 'pods'],
    [false, nodes, 'patch', 'pods'],
    [true, nodes, 'patch', 'pods', { subresource: 'status' }],
    [false, nodes, 'create', 'pods', { subresource: 'exec' }],
    [false, nodes, 'create', 'secrets'],
    [false, nodes, 'get', 'secrets', { group: 'other' }],
    [true, nodes, 'create', 'leases', { group: 'coordination.k8s.io' }],
    [false, ['system:serviceaccounts'], 'get', 'pods'],
    [true, ['system:serviceaccounts'], 'create', 'selfsubjectreviews', { group: 'authentication.k8s.io' }],
  ])('%s: %j may %s %s %j', (isAllowed, groups, verb, resource, more = {}) => {
    expect(request(groups, verb, resource, more)).toBe(isAllowed);
  });
});

describe('a table', () => {
  const now = Date.parse('2030-01-01T00:01:05Z');
  const rows = (kind: string, object: KubeObject, include: 'None' | 'Metadata' | 'Object' = 'None') =>
    tableFor({ group: '', version: 'v1', kind }, [object], { metadata: { resourceVersion: '7' }, include, now });

  test('has the columns of pods', () => {
    const running = {
      ...pod({ containers: [{ name: 'a' }, { name: 'b' }], nodeName: 'n' }),
      status: {
        phase: 'Running',
        podIPs: [{ ip: '10.0.0.1' }],
        containerStatuses: [
          { name: 'a', ready: true, restartCount: 1, state: { running: {} } },
          { name: 'b', ready: false, restartCount: 0, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      },
    };
    expect(rows('Pod', running)).toMatchObject({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '7' },
      rows: [
        { cells: ['web', '1/2', 'CrashLoopBackOff', '1', '65s', '10.0.0.1', 'n', '<none>', '<none>'], object: null },
      ],
    });
  });

  test('has those of nodes, services, events and kinds without their own', () => {
    const { rows: ofNode } = rows('Node', node('n', { unschedulable: true }, { 'node-role.kubernetes.io/edge': '' }));
    expect(ofNode).toMatchObject([
      {
        cells: [
          'n',
          'Ready,SchedulingDisabled',
          'edge',
          '65s',
          '',
          '<none>',
          '<none>',
          '<unknown>',
          '<unknown>',
          '<unknown>',
        ],
      },
    ]);
    const service = {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: meta('s') },
      spec: {
        ...{ type: 'NodePort', clusterIPs: ['10.96.0.1'], selector: { app: 'web' } },
        ports: [{ port: 80, nodePort: 30080, protocol: 'TCP' }],
      },
    };
    const cells = ['s', 'NodePort', '10.96.0.1', '<none>', '80:30080/TCP', '65s', 'app=web'];
    expect(rows('Service', service)['rows']).toMatchObject([{ cells }]);
    const event = {
      ...{ apiVersion: 'v1', kind: 'Event', metadata: meta('e'), type: 'Normal', reason: 'Started', count: 2 },
      involvedObject: { kind: 'Pod', name: 'web' },
      ...{ message: 'it runs ', lastTimestamp: '2030-01-01T00:01:00Z', source: { component: 'kubelet', host: 'n' } },
    };
    expect(rows('Event', event)['rows']).toMatchObject([
      { cells: ['5s', 'Normal', 'Started', 'pod/web', '', 'kubelet, n', 'it runs', '<unknown>', 2, 'e'] },
    ]);
    expect(rows('Other', pod())['rows']).toMatchObject([{ cells: ['web', '2030-01-01T00:00:00Z'] }]);
  });

  test('carries of an object what is asked for', () => {
    expect(rows('Pod', pod(), 'Object')['rows']).toMatchObject([{ object: { kind: 'Pod', spec: {} } }]);
    const [row] = rows('Pod', pod(), 'Metadata')['rows'] as { object: JsonObject }[];
    expect(row?.object).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: meta('web') });
  });
});
