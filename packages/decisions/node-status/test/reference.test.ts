import { expect, test } from '@jest/globals';
import { initialNode, leaseSchema, nodeObjectSchema, renewedLease, withStatus } from '../src/index.ts';
import lease from './data/reference-lease.json' with { type: 'json' };
import reference from './data/reference-node.json' with { type: 'json' };
import { statusInput } from './make.ts';

const { metadata, status } = nodeObjectSchema.parse(reference);
const SERVER_SIDE = { uid: '', resourceVersion: '', creationTimestamp: undefined };
/** Resources left by the device plugins of the reference's tests. */
const ofDevices = ([name]: [string, string]) => name.startsWith('test.device/');
const written = status.conditions?.[0]?.lastHeartbeatTime ?? '';

test('the Node object equals that of the reference kubelet on the same machine', () => {
  const { nodeInfo } = reference.status;
  const settings = { providerId: '', externalCloud: false, controllerAttachDetach: true, schedulable: true };
  const fresh = initialNode(
    { name: 'node0', hostname: 'node0', architecture: nodeInfo.architecture },
    { labels: {}, taints: [], ...settings },
  );
  const capacity = Object.fromEntries(Object.entries(reference.status.capacity).filter((one) => !ofDevices(one)));
  // The reference's device plugins registered later, and its conditions had changed when it was recorded.
  const registered = {
    ...fresh,
    status: {
      capacity: Object.fromEntries(Object.entries(reference.status.capacity).filter(ofDevices)),
      conditions: status.conditions?.map((condition) => ({ ...condition, lastHeartbeatTime: null })),
    },
  };
  const { node, events } = withStatus(
    registered,
    statusInput({
      machine: {
        machineId: nodeInfo.machineID,
        systemUuid: nodeInfo.systemUUID,
        bootId: nodeInfo.bootID,
        ...{ architecture: nodeInfo.architecture, kernelVersion: nodeInfo.kernelVersion, osImage: nodeInfo.osImage },
        swapBytes: 0,
      },
      version: nodeInfo.kubeletVersion,
      capacity,
      reserved: {
        ...{ system: {}, kube: {} },
        evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
      },
      addresses: reference.status.addresses,
      // The runtime lists them in no particular order.
      images: reference.status.images.map(({ names, sizeBytes }) => ({ names: names ?? [], sizeBytes })).reverse(),
      declaredFeatures: reference.status.declaredFeatures,
      now: written,
    }),
  );
  expect(events).toEqual([]);
  const expected = nodeObjectSchema.parse(reference);
  const images = reference.status.images.map(({ names, sizeBytes }) => ({ names: names ?? [], sizeBytes }));
  expect({ ...node, metadata: { ...node.metadata, ...SERVER_SIDE } }).toEqual({
    ...expected,
    metadata: { ...metadata, ...SERVER_SIDE },
    status: { ...expected.status, images },
  });
});

test('the lease equals that of the reference kubelet', () => {
  const { creationTimestamp, uid, resourceVersion, ...mine } = lease.metadata;
  const made = renewedLease(
    undefined,
    { name: 'node0', uid: metadata.uid },
    { now: lease.spec.renewTime, seconds: lease.spec.leaseDurationSeconds },
  );
  expect(made).toEqual({ ...lease, metadata: mine });
  const renewed = renewedLease(
    leaseSchema.parse(lease),
    { name: 'node0', uid: metadata.uid },
    { now: 'x', seconds: 7 },
  );
  expect(renewed).toEqual({
    ...lease,
    metadata: { ...mine, creationTimestamp, uid, resourceVersion },
    spec: { holderIdentity: 'node0', leaseDurationSeconds: 7, renewTime: 'x' },
  });
});

test('the lease of a recreated Node object is owned by the new one, and keeps other owners', () => {
  const other = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p' };
  const base = leaseSchema.parse({
    ...lease,
    metadata: { ...lease.metadata, ownerReferences: [other, ...lease.metadata.ownerReferences] },
  });
  const { metadata: made } = renewedLease(base, { name: 'node0', uid: 'new' }, { now: 'x', seconds: 40 });
  expect(made.ownerReferences).toEqual([other, { apiVersion: 'v1', kind: 'Node', name: 'node0', uid: 'new' }]);
});
