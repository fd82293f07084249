import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod, PresentClaim } from '@kubus/contracts';
import type { AccessAttributes } from '@kubus/kube-fixture';
import { attachmentName } from '@kubus/volume';
import { TestNode, podOf } from './test-node.ts';

const storage = 'storage.k8s.io/v1';
const claimObject = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data' };
const volumeObject = { kind: 'PersistentVolume', name: 'pv1' };
const csi = { driver: 'd.test', volumeHandle: 'h1' };
const unique = 'kubernetes.io/csi/d.test^h1';
const attachment = { kind: 'VolumeAttachment', name: attachmentName(csi, 'n') };

let node: TestNode;
let denied: ((attributes: AccessAttributes) => boolean) | undefined;

beforeEach(async () => {
  denied = undefined;
  node = await TestNode.start({
    nodeAuthorization: true,
    authorize: (attributes) => (denied?.(attributes) === true ? 'not now' : undefined),
  });
});
afterEach(() => node.stop());

/** Adds a pod with this volume to the API and to the node. */
function run(name: string, volume: object): Pod {
  const spec = {
    volumes: [{ name: 'v', ...volume }],
    containers: [{ name: 'main', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
  };
  const metadata = { name, namespace: 'default' };
  node.api.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, nodeName: 'n' } });
  const pod = podOf(name, spec);
  node.work(pod);
  return pod;
}
const using = (name: string) => run(name, { persistentVolumeClaim: { claimName: 'data' } });

function putClaim(name = 'data', metadata: object = {}, spec: object = {}): void {
  node.api.create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
}

/** Binds a volume to the claim, as the cluster's controller does. */
function bind(source: object, name = 'data'): void {
  const claim = { ...claimObject, name };
  const uid = node.api.get(claim)?.metadata.uid ?? '';
  const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, ...source };
  const claimRef = { namespace: 'default', name, uid };
  const metadata = { name: 'pv1', annotations: { 'pv.beta.kubernetes.io/gid': '1234' } };
  node.api.create({ apiVersion: 'v1', kind: 'PersistentVolume', metadata, spec: { ...spec, claimRef } });
  node.api.patch(claim, { spec: { volumeName: 'pv1' } });
  const status = { phase: 'Bound', capacity: { storage: '1Gi' } };
  node.api.patch(claim, { status }, { subresource: 'status' });
}

/** The claim as published, once it is as wanted. */
const published = (is: (claim: PresentClaim) => boolean = () => true, name = 'data') =>
  node.until(() => {
    const claim = node.claim(name);
    return claim?.state === 'present' && is(claim) && claim;
  });
const isBound = ({ volume }: PresentClaim) => volume !== undefined;
const asked = (plural: string) => node.requests('get', plural).length;

describe('a claim', () => {
  test('is read until it is bound, and published with its volume', async () => {
    putClaim();
    await node.run();
    using('p');
    expect(await published()).toMatchObject({ phase: 'Pending', protected: true, deleting: false, requested: '1Gi' });
    bind({ hostPath: { path: '/data' }, mountOptions: ['ro'] });
    const { uid } = node.api.get(claimObject)?.metadata ?? {};
    const claim = await published(isBound);
    expect(claim).toEqual({
      ...{ state: 'present', namespace: 'default', name: 'data', uid, phase: 'Bound', volumeName: 'pv1' },
      ...{ deleting: false, protected: true, volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] },
      ...{ requested: '1Gi', capacity: '1Gi', resizePending: false },
      volume: {
        ...{ name: 'pv1', uid: node.api.get(volumeObject)?.metadata.uid, claimUid: uid, gid: '1234' },
        ...{ accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', mountOptions: ['ro'], capacity: '1Gi' },
        source: { kind: 'hostPath', path: '/data', type: '' },
      },
    });
    await node.until(() => node.storageComplete.claims);
  });

  test('that is bound is read every minute, once for all its pods, and published when it changes', async () => {
    putClaim();
    bind({ local: { path: '/disk' } });
    await node.run();
    for (const name of ['p', 'q']) using(name);
    const first = await published(isBound);
    expect(first.volume?.source).toEqual({ kind: 'local', path: '/disk' });
    expect(asked('persistentvolumeclaims')).toBe(1);
    await node.clock.advance(60_000);
    await node.api.waitForRequest(() => asked('persistentvolumes') === 2);
    node.api.patch(volumeObject, { spec: { capacity: { storage: '2Gi' } } });
    const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
    node.api.patch(claimObject, { status: { conditions } }, { subresource: 'status' });
    node.api.delete(claimObject);
    // The next request is observed only when the last answer has been processed.
    await node.untilReceived();
    await node.clock.advance(60_000);
    expect(await published(({ deleting }) => deleting)).toMatchObject({
      resizePending: true,
      volume: { capacity: '2Gi' },
    });
    expect(asked('persistentvolumeclaims')).toBe(3);
  });

  test('that was created for its pod is published with the pod as its controller', async () => {
    putClaim('p-v', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p', controller: true }] });
    await node.run();
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    run('p', { ephemeral: { volumeClaimTemplate: { spec } } });
    expect(await published(undefined, 'p-v')).toMatchObject({ controllerUid: 'p' });
  });

  test('that is missing or refused is published as such, and read once it exists', async () => {
    await node.run();
    using('p');
    await node.until(() => node.claim('data')?.state === 'missing');
    denied = ({ resource }) => resource === 'persistentvolumeclaims';
    expect(await node.until(() => node.claim('data')?.state === 'refused' && node.claim('data'))).toMatchObject({
      message:
        'persistentvolumeclaims "data" is forbidden: User "system:node:n" cannot get resource "persistentvolumeclaims" in API group "" in the namespace "default": not now',
    });
    putClaim();
    denied = undefined;
    await published();
    denied = ({ resource }) => resource === 'persistentvolumeclaims';
    const refused = asked('persistentvolumeclaims');
    await node.api.waitForRequest(() => asked('persistentvolumeclaims') > refused + 2);
    expect(node.claim('data')?.state).toBe('present');
  });

  test('is published with the reason why its volume is not known', async () => {
    putClaim();
    bind({ nfs: { server: 's', path: '/x' } });
    denied = ({ resource }) => resource === 'persistentvolumes';
    await node.run();
    using('p');
    const { volumeProblem } = await published((claim) => claim.volumeProblem !== undefined);
    expect(volumeProblem).toMatch(/^persistentvolumes "pv1" is forbidden: .*: not now$/);
    denied = undefined;
    const { volume, ...claim } = await published(isBound);
    expect(volume?.source).toEqual({ kind: 'nfs', server: 's', path: '/x', readOnly: false });
    expect(claim).not.toHaveProperty('volumeProblem');
  });

  test('with a volume of an unsupported kind is published with the name of the kind', async () => {
    putClaim();
    bind({ iscsi: { targetPortal: 't', iqn: 'i', lun: 1 }, storageClassName: 'slow' });
    await node.run();
    using('p');
    expect((await published(isBound)).volume?.source).toEqual({ kind: 'other', name: 'iscsi' });
  });

  test('is forgotten some time after its last pod, and not requested for pods that do not need it', async () => {
    putClaim();
    bind({ hostPath: { path: '/data' } });
    const cache = await node.run();
    node.work(podOf('unused', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] }));
    await node.untilReceived();
    expect(node.requests('get', 'persistentvolumeclaims')).toEqual([]);
    expect(node.requests('list', 'csidrivers')).toEqual([]);
    using('p');
    await published(isBound);
    node.forget('p');
    await node.untilReceived();
    await node.clock.advance(30_000);
    await node.until(() => node.claims.length === 0);
    expect(cache.count.claims).toBe(0);
    await node.clock.advance(120_000);
    expect(asked('persistentvolumeclaims')).toBe(1);
  });
});

describe('without the API server', () => {
  test('known claims stay; after its return those of removed pods are removed', async () => {
    putClaim();
    bind({ hostPath: { path: '/data' } });
    await node.run();
    using('p');
    await published(isBound);
    await node.api.pause();
    // The next poll with all its attempts.
    await node.clock.advance(60_000);
    await node.clock.advance(30_000);
    expect(node.claims).toEqual(['default/data present']);
    await node.halt();
    node.forget('p');
    putClaim('other');
    run('q', { persistentVolumeClaim: { claimName: 'other' } });
    await node.run();
    expect(node.claims).toEqual(['default/data present']);
    expect(node.storageComplete.claims).toBe(false);
    await node.api.resume();
    await node.until(() => node.storageComplete.claims);
    expect(node.claims).toEqual(['default/other present']);
  });
});

describe('a volume of a CSI driver', () => {
  const secret = (name: string) => ({ namespace: 'default', name });
  const putDriver = (spec: object = {}) =>
    node.api.create({ apiVersion: storage, kind: 'CSIDriver', metadata: { name: 'd.test' }, spec: { ...spec } });
  const attach = (status: object) => {
    const spec = { attacher: 'd.test', nodeName: 'n', source: { persistentVolumeName: 'pv1' } };
    if (node.api.get(attachment) === undefined) {
      const metadata = { name: attachment.name };
      node.api.create({ apiVersion: storage, kind: 'VolumeAttachment', metadata, spec });
    }
    node.api.patch(attachment, { status: { ...status } }, { subresource: 'status' });
  };

  test('is published with its driver, and its Secrets are followed', async () => {
    putClaim();
    const refs = { nodeStageSecretRef: secret('stage'), nodePublishSecretRef: secret('publish') };
    bind({ csi: { ...csi, fsType: 'ext4', volumeAttributes: { a: 'b' }, ...refs } });
    putDriver({ podInfoOnMount: true, tokenRequests: [{ audience: '' }] });
    for (const name of ['stage', 'publish', 'unused']) {
      const metadata = { name, namespace: 'default' };
      node.api.create({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: name } });
    }
    await node.run();
    using('p');
    expect((await published(isBound)).volume?.source).toEqual({
      ...{ kind: 'csi', ...csi, fsType: 'ext4', readOnly: false, volumeAttributes: { a: 'b' } },
      ...{ nodeStageSecret: secret('stage'), nodePublishSecret: secret('publish') },
    });
    await node.until(() => node.objects.length === 2);
    expect(node.objects).toEqual(['Secret/default/publish present', 'Secret/default/stage present']);
    const drivers = await node.until(() => node.drivers.length === 1 && node.drivers);
    expect(drivers).toEqual([
      {
        ...{
          name: 'd.test',
          attachRequired: true,
          podInfoOnMount: true,
          requiresRepublish: false,
          seLinuxMount: false,
        },
        ...{
          fsGroupPolicy: 'ReadWriteOnceWithFSType',
          lifecycleModes: ['Persistent'],
          tokenRequests: [{ audience: '' }],
        },
      },
    ]);
    node.api.delete({ kind: 'CSIDriver', name: 'd.test' });
    await node.until(() => node.drivers.length === 0);
    node.forget('p');
    await node.untilReceived();
    await node.clock.advance(30_000);
    await node.until(() => node.claims.length === 0);
    await node.clock.advance(30_000);
    await node.until(() => !node.objects.some((line) => line.startsWith('Secret')));
  });

  test('has its attachment followed only while the Node lists it as attached', async () => {
    putClaim();
    bind({ csi });
    putDriver();
    await node.run();
    node.attached();
    using('p');
    await published(isBound);
    await node.until(() => node.storageComplete.attachments);
    expect(node.requests('get', 'volumeattachments')).toEqual([]);
    attach({ attached: false, attachError: { message: 'too many' } });
    node.attached(unique);
    const failed = await node.until(() => node.attachments[0]);
    expect(failed).toEqual({ name: attachment.name, ...csi, attached: false, metadata: {}, error: 'too many' });
    attach({ attached: true, attachError: null, attachmentMetadata: { path: '/dev/sdb' } });
    await node.until(() => node.attachments[0]?.attached);
    expect(node.attachments).toEqual([
      { name: attachment.name, ...csi, attached: true, metadata: { path: '/dev/sdb' } },
    ]);
    node.attached();
    await node.until(() => node.attachments.length === 0);
  });

  test('has no attachment when its driver does not require one', async () => {
    putClaim();
    bind({ csi });
    putDriver({ attachRequired: false });
    await node.run();
    node.attached(unique);
    using('p');
    await published(isBound);
    await node.until(() => node.storageComplete.drivers && node.storageComplete.attachments);
    await node.untilReceived();
    expect(node.attachments).toEqual([]);
  });

  test('that is inline needs the drivers as well', async () => {
    putDriver({ volumeLifecycleModes: ['Ephemeral'] });
    await node.run();
    run('p', { csi: { driver: 'd.test' } });
    await node.until(() => node.storageComplete.drivers);
    expect(node.drivers).toMatchObject([{ name: 'd.test', lifecycleModes: ['Ephemeral'] }]);
  });
});
