import { describe, expect, test } from '@jest/globals';
import { ObjectTable, documentOf, nameLine } from '../output/object-printer.ts';
import { objectFormat } from '../output/object-format.ts';
import { eventItem, events } from './events.ts';
import { manifestItem, manifests } from './manifests.ts';
import { nodeObject } from './node-object.ts';
import { nodeItem, nodes, rolesOf } from './nodes.ts';
import type { Item, ResourceType } from './resource-type.ts';
import { itemSelector } from './select-items.ts';
import { askedFor, resourceTypes } from './types.ts';

const NOW = Date.UTC(2030, 0, 1, 0, 10);

function rows(type: ResourceType, items: readonly Item[], format?: string): string[][] {
  const given = format === undefined ? undefined : objectFormat(format);
  const table = new ObjectTable(type, { format: given, withNamespace: false }).table(items, NOW);
  return table.split('\n').map((line) => line.split(/ {3,}/));
}

describe('what get is asked for', () => {
  test.each([
    ['pods', 'pods', []],
    ['po', 'pods', []],
    ['Pod', 'pods', []],
    ['pods web hello', 'pods', ['web', 'hello']],
    ['pod/web', 'pods', ['web']],
    ['pod/web po/hello', 'pods', ['web', 'hello']],
    ['pods pod/web', 'pods', ['web']],
    ['no', 'nodes', []],
    ['ev', 'events', []],
    ['manifests /etc/pods/web.yaml', 'manifests', ['/etc/pods/web.yaml']],
    ['manifest//etc/pods/web.yaml', 'manifests', ['/etc/pods/web.yaml']],
  ])('%s', (words, type, names) => {
    const asked = askedFor(words.split(' '));
    expect(asked.map((one) => [one.type.name, one.names])).toEqual([[type, names]]);
  });

  test('can be several types', () => {
    const types = (words: string) => askedFor(words.split(' ')).map(({ type, names }) => [type.name, ...names]);
    expect(types('po,ev,pods')).toEqual([['pods'], ['events']]);
    expect(types('pod/web node/node0 po/hello')).toEqual([
      ['pods', 'web', 'hello'],
      ['nodes', 'node0'],
    ]);
  });

  test.each([
    ['job', /no resource type "job": it has pods, nodes, events, manifests/],
    ['pods,nodes web', /names belong to one/],
    ['pods,job', /no resource type "job"/],
    ['pods,', /no resource type ""/],
    ['pod/web hello', /no type before "hello"/],
    ['pods node/node0', /name a type twice/],
  ])('%s is refused', (words, message) => {
    expect(() => askedFor(words.split(' '))).toThrow(message);
  });

  test('no word means two types', () => {
    const words = resourceTypes.flatMap(({ name, singular, shortNames }) => [name, singular, ...shortNames]);
    expect(new Set(words).size).toBe(words.length);
  });
});

const event = {
  ...({ series: 'pod-workers-0.3.1', type: 'Warning', reason: 'BackOff', message: ' Back-off ', count: 3 } as const),
  firstTimestamp: '2030-01-01T00:05:00.000Z',
  lastTimestamp: '2030-01-01T00:09:55.000Z',
  from: 'pod-workers-0',
  object: {
    kind: 'Pod',
    namespace: 'default',
    name: 'web-node0',
    uid: 'a',
    fieldPath: 'spec.containers{web}',
  } as const,
};

test('events have the columns of kubectl get events', () => {
  const items = [eventItem(event, 'node0')];
  expect(rows(events, items)).toEqual([
    ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
    ['5s', 'Warning', 'BackOff', 'pod/web-node0', 'Back-off'],
  ]);
  expect(rows(events, items, 'wide')[1]).toEqual([
    ...['5s', 'Warning', 'BackOff', 'pod/web-node0', 'spec.containers{web}', 'kubelet, node0', 'Back-off'],
    ...['5m', '3', 'web-node0.pod-workers-0.3.1'],
  ]);
});

test('a list of several types has the type before each name', () => {
  const named = { format: objectFormat('wide'), withNamespace: false, withType: true, withoutHeader: true };
  const cells = new ObjectTable(events, named).table([eventItem(event, 'node0')], NOW).split(/ {3,}/);
  expect([cells[0], cells.at(-1)]).toEqual(['5s', 'event/web-node0.pod-workers-0.3.1']);
});

test('manifests are listed with what is wrong with them', () => {
  const report = { path: '/pods/a.yaml', readAt: '2030-01-01T00:00:00Z', pods: [], warnings: [] };
  const errors = [
    { document: 0, field: 'spec.containers', message: 'is required' },
    { document: 1, line: 7, message: 'is no YAML' },
  ];
  const item = manifestItem('k', { ...report, errors });
  expect(item.cells(NOW)).toEqual(['/pods/a.yaml', '0', 'Broken', 'spec.containers: is required; line 7: is no YAML']);
  expect(nameLine(manifests, item)).toBe('manifest//pods/a.yaml');
  expect(item.object).toMatchObject({ kind: 'Manifest', metadata: { name: '/pods/a.yaml' }, errors });
});

describe('the node', () => {
  const machine = {
    ...{ architecture: 'amd64', machineId: 'm', systemUuid: 's', bootId: 'b', kernelVersion: '6.1.0' },
    ...{ osImage: 'Debian GNU/Linux 12 (bookworm)', swapBytes: 0 },
  };
  const runtime = {
    events: 'containerd' as const,
    ready: true,
    networkReady: true,
    name: 'containerd',
    version: '1.6.20',
    network: 'cni-bridge',
  } as const;
  const parts = {
    config: {
      ...{ node: 'node0', nodeIps: ['10.88.0.1'], labels: { 'node-role.kubernetes.io/edge': '' }, taints: [] },
      reserved: {
        system: { memory: '1Gi' },
        kube: {},
        evictionHard: {},
        enforce: [],
        systemCgroup: '',
        kubeCgroup: '',
      },
    },
    ...{ hostname: 'machine', machine, version: '0.1.0', capacity: { cpu: '2', memory: '4Gi', pods: '110' } },
    runtime,
    network: { ready: true, broken: [] },
    pressure: undefined,
    cluster: undefined,
    ...{ createdAt: NOW - 60_000, now: NOW },
  };

  test('of no cluster is made of what it knows itself', () => {
    expect(nodeObject(parts)).toMatchObject({
      ...{ apiVersion: 'v1', kind: 'Node' },
      metadata: { name: 'node0', labels: { 'kubernetes.io/hostname': 'machine', 'kubernetes.io/arch': 'amd64' } },
      status: {
        ...{ capacity: parts.capacity, allocatable: { cpu: '2', memory: '3Gi', pods: '110' } },
        nodeInfo: { kernelVersion: '6.1.0', containerRuntimeVersion: 'containerd://1.6.20' },
      },
    });
    expect(rows(nodes, [nodeItem(nodeObject(parts))], 'wide')).toEqual([
      [
        ...['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION', 'INTERNAL-IP', 'EXTERNAL-IP', 'OS-IMAGE', 'KERNEL-VERSION'],
        'CONTAINER-RUNTIME',
      ],
      [
        ...[
          'node0',
          'Ready',
          'edge',
          '60s',
          expect.stringMatching(/^v1\.\d+\.\d+\+kubus\.0\.1\.0$/),
          '10.88.0.1',
          '<none>',
        ],
        ...['Debian GNU/Linux 12 (bookworm)', '6.1.0 (amd64)', 'containerd://1.6.20'],
      ],
    ]);
  });

  test('is not ready with the reason of its runtime or its network', () => {
    const network = { ready: false, reason: 'NetworkPluginNotReady', message: 'no conflist', broken: [] };
    const object = nodeObject({ ...parts, network });
    expect(nodeItem(object).cells(NOW)[1]).toBe('NotReady');
    expect(object.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', message: expect.stringContaining('no conflist') }),
    );
    expect(nodeItem(nodeObject({ ...parts, runtime: undefined })).cells(NOW)[1]).toBe('NotReady');
    const { status } = nodeObject({ ...parts, pressure: { conditions: ['DiskPressure'] } });
    const short = status.conditions?.filter(({ type, status: is }) => type.endsWith('Pressure') && is === 'True');
    expect(short?.map(({ type }) => type)).toEqual(['DiskPressure']);
  });

  test('of a cluster has what its API server says', () => {
    const cluster = {
      ...{ name: 'node0', uid: 'u', resourceVersion: '7', labels: { a: 'b' }, annotations: { c: 'd' } },
      taints: [{ key: 'k', effect: 'NoSchedule' }],
      ...{ unschedulable: true, podCIDRs: ['10.1.0.0/24'], addresses: [{ type: 'ExternalIP', address: '192.0.2.1' }] },
      ...{ capacity: { cpu: '8' }, allocatable: { cpu: '7' }, volumesInUse: [], volumesAttached: [], deleting: false },
    };
    const object = nodeObject({ ...parts, cluster });
    expect(object).toMatchObject({
      metadata: { uid: 'u', labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: { taints: cluster.taints, podCIDRs: cluster.podCIDRs },
      status: { capacity: { cpu: '8' }, allocatable: { cpu: '7' } },
    });
    const cells = nodeItem(object).cells(NOW);
    expect([cells[1], cells[5], cells[6]]).toEqual(['Ready,SchedulingDisabled', '<none>', '192.0.2.1']);
  });

  test('has the roles of its labels', () => {
    const labels = { 'node-role.kubernetes.io/b': '', 'kubernetes.io/role': 'a', 'node-role.kubernetes.io/': 'x' };
    expect(rolesOf({ metadata: { name: 'n', uid: '', resourceVersion: '', labels } })).toEqual(['a', 'b']);
  });
});

describe('a list', () => {
  const item = (name: string, rank: number, labels = {}): Item => {
    const metadata = { name, namespace: 'default', labels };
    return {
      key: name,
      object: { apiVersion: 'v1', kind: 'Event', metadata, rank } as Item['object'],
      cells: () => [],
    };
  };
  const items = [item('b', 10, { app: 'x' }), item('a', 9), item('c', 100, { app: 'y' })];
  const names = (selection: object) =>
    itemSelector(events, { namespace: 'default', names: [], ...selection })(items).map(({ key }) => key);

  test('is selected by namespace, labels, fields and names, and sorted', () => {
    expect(names({})).toEqual(['b', 'a', 'c']);
    expect(names({ namespace: 'other' })).toEqual([]);
    expect(names({ namespace: undefined, selector: 'app' })).toEqual(['b', 'c']);
    expect(names({ fieldSelector: 'metadata.name!=a' })).toEqual(['b', 'c']);
    expect(names({ names: ['c', 'a'] })).toEqual(['c', 'a']);
    expect(names({ sortBy: '.rank' })).toEqual(['a', 'b', 'c']);
    expect(names({ sortBy: '{.metadata.name}' })).toEqual(['a', 'b', 'c']);
  });

  test('without an object that was named is an error', () => {
    expect(() => names({ names: ['d'] })).toThrow('events "d" not found in namespace "default"');
    expect(() => names({ names: ['a'], selector: 'app' })).toThrow(/but not both/);
  });

  test('is a document, and one object that was named is itself', () => {
    expect(documentOf(items, false)).toMatchObject({ kind: 'List', items: [{ rank: 10 }, { rank: 9 }, { rank: 100 }] });
    expect(documentOf(items.slice(0, 1), true)).toBe(items[0]?.object);
  });

  test.each([
    ['custom-columns=NAME:.metadata.name,APP:.metadata.labels.app', ['NAME', 'APP'], ['a', '<none>']],
    ['custom-columns=RANK:rank,BOTH:{.metadata["name","namespace"]}', ['RANK', 'BOTH'], ['9', 'a,default']],
  ])('is printed in columns of the user: %s', (format, header, second) => {
    const table = rows(events, items, format);
    expect([table[0], table[2]]).toEqual([header, second]);
  });

  test.each([
    ['xml', /Use json, yaml, wide, name, jsonpath=TEMPLATE/],
    ['go-template={{.}}', /Use json/],
    ['jsonpath=.kind', /invalid jsonpath/],
    ['custom-columns=NAME', /must be TITLE:PATH/],
  ])('is not printed as %s', (format, message) => {
    expect(() => objectFormat(format)).toThrow(message);
  });
});
