import { expect, test } from '@jest/globals';
import { type InitialSettings, clusterNodeOf, initialNode, reconciled, statusPatch, withStatus } from '../src/index.ts';
import { node, statusInput } from './make.ts';

const identity = { name: 'node0', hostname: 'host0', architecture: 'arm64' };
const plain: InitialSettings = {
  ...{ labels: {}, taints: [], providerId: '', externalCloud: false },
  ...{ controllerAttachDetach: true, schedulable: true },
};
const ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';

test('the initial Node object has the defaults without settings', () => {
  expect(initialNode(identity, plain)).toMatchObject({
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name: 'node0',
      labels: {
        'kubernetes.io/hostname': 'host0',
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'arm64',
        'beta.kubernetes.io/os': 'linux',
        'beta.kubernetes.io/arch': 'arm64',
      },
      annotations: { [ATTACH]: 'true' },
    },
    spec: {},
  });
});

test('the initial Node object has all settings', () => {
  const { metadata, spec } = initialNode(identity, {
    labels: { 'kubernetes.io/hostname': 'other', a: 'b' },
    taints: [{ key: 'k', effect: 'NoExecute' }],
    ...{ providerId: 'cloud://1', externalCloud: true, controllerAttachDetach: false, schedulable: false },
  });
  expect(metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'other', a: 'b' });
  expect(metadata.annotations).toBeUndefined();
  const uninitialized = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
  expect(spec).toEqual({
    providerID: 'cloud://1',
    taints: [{ key: 'k', effect: 'NoExecute' }, uninitialized],
    unschedulable: true,
  });
});

const huge = (size: string) => ({ ...statusInput().capacity, 'hugepages-2Mi': size });
const wanted = withStatus(initialNode(identity, plain), statusInput({ capacity: huge('4Mi') })).node;

test('a correct Node object is not changed', () => {
  const existing = { ...wanted, metadata: { ...wanted.metadata, uid: 'u1' } };
  expect(statusPatch(existing, reconciled(existing, wanted, false))).toBeUndefined();
});

test('a Node object that others have changed gets back the node’s own labels and keeps the rest', () => {
  const existing = node({
    metadata: { labels: { 'kubernetes.io/hostname': 'x', own: 'y' }, annotations: { [ATTACH]: 'false', b: 'c' } },
    status: {
      capacity: { memory: '1Gi', 'hugepages-1Gi': '1Gi', 'hugepages-2Mi': '2Mi', 'example.com/dongle': '4' },
      allocatable: { memory: '1Gi', 'hugepages-1Gi': '1Gi', 'hugepages-2Mi': '2Mi', 'example.com/dongle': '4' },
    },
  });
  const { metadata, status } = reconciled(existing, wanted, false);
  expect(metadata.labels).toEqual({ own: 'y', ...wanted.metadata.labels });
  expect(metadata.annotations).toEqual({ b: 'c', [ATTACH]: 'true' });
  expect(status.capacity).toEqual({ memory: '1Gi', 'hugepages-2Mi': '4Mi', 'example.com/dongle': '4' });
  expect(status.allocatable).toEqual(status.capacity);
  const off = initialNode(identity, { ...plain, controllerAttachDetach: false });
  expect(reconciled(existing, off, false).metadata.annotations).toEqual({ b: 'c' });
  expect(reconciled(existing, wanted, true).status).toMatchObject({
    capacity: { memory: '1Gi', 'example.com/dongle': '0' },
    allocatable: { memory: '1Gi', 'example.com/dongle': '0' },
  });
  expect(reconciled(node(), wanted, false).status.capacity).toEqual(wanted.status.capacity);
});

test('clusterNodeOf contains what is published to other services', () => {
  const taints = [{ key: 'k', effect: 'NoSchedule' }];
  const existing = node({
    metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' },
    spec: { podCIDR: '10.1.0.0/24', taints, unschedulable: true },
    status: {
      ...{ capacity: { cpu: '1' }, volumesInUse: ['a'] },
      volumesAttached: [{ name: 'a', devicePath: '' }, { name: 'b' }],
    },
  });
  expect(clusterNodeOf(existing)).toEqual({
    ...{ name: 'node0', uid: 'u1', resourceVersion: '7', labels: {}, annotations: {}, taints, unschedulable: true },
    ...{ podCIDRs: ['10.1.0.0/24'], addresses: [], capacity: { cpu: '1' }, allocatable: {}, deleting: true },
    ...{ volumesInUse: ['a'], volumesAttached: ['a', 'b'] },
  });
  const both = ['10.1.0.0/24', 'fd00::/64'];
  expect(clusterNodeOf(node({ spec: { podCIDR: '10.1.0.0/24', podCIDRs: both } }))).toMatchObject({
    podCIDRs: both,
    deleting: false,
  });
});
