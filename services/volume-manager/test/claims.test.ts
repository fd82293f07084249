// The manager with the facts of object-cache and node-agent about claims; the machine's real folders, and a host that
// records its calls.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type CsiPersistentVolume,
  type PersistentVolume,
  type PresentClaim,
  cachedObject,
  claimKey,
  clusterNode,
  csiDriver,
  uniqueCsiVolume,
  volumeAttachment,
  volumeClaim,
} from '@kubus/contracts';
import { silentLogger } from '@kubus/ports';
import { ManualClock, MemoryRecords } from '@kubus/ports/testing';
import type { VolumeStep } from '@kubus/volume';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { ScriptedNode, podWith } from './scripted-node.ts';
import { makeRoot, removeRoot } from './test-root.ts';

let dir: string;
let node: ScriptedNode;
let host: VolumeHost;

beforeEach(() => {
  dir = makeRoot();
  const clock = new ManualClock();
  node = new ScriptedNode(clock);
  host = createVolumeHost({ root: join(dir, 'node'), clock, logger: silentLogger });
  mkdirSync(join(dir, 'node'));
});
afterEach(async () => {
  await node.kill();
  await removeRoot(dir);
});

const start = (over: Partial<VolumeHost> = {}) =>
  node.start({ root: join(dir, 'node'), host: { ...host, ...over }, records: new MemoryRecords() });
const claims = () => node.cache.owner(volumeClaim);
const name = { namespace: 'default', name: 'data' };
const using = (uid: string) => podWith(uid, [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]);

function claim(source: PersistentVolume['source'], change: Partial<PresentClaim> = {}): PresentClaim {
  const modes = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' } as const;
  return {
    ...{ state: 'present', ...name, uid: 'c1', deleting: false, protected: true, phase: 'Bound', volumeName: 'pv1' },
    ...{ ...modes, accessModes: ['ReadWriteOnce'], resizePending: false },
    volume: {
      ...modes,
      accessModes: ['ReadWriteOnce'],
      name: 'pv1',
      uid: 'p',
      claimUid: 'c1',
      mountOptions: [],
      source,
    },
    ...change,
  };
}

test('a claim is waited for, its problem is published, and its volume is mounted once it is bound', async () => {
  const facts = claims();
  const source = { kind: 'hostPath', path: join(dir, 'data'), type: 'DirectoryOrCreate' } as const;
  await start();
  node.want(using('a'));
  await node.until(() => node.published('a')?.awaits !== undefined);
  expect(node.published('a')).toMatchObject({
    ready: false,
    awaits: ['claim default/data from the API server'],
  });
  expect(node.events).toEqual([]);
  facts.put(claimKey(name), claim(source, { phase: 'Pending', volume: undefined }));
  await node.until(() => node.published('a')?.errors !== undefined);
  const volumes = 'unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]';
  const problem = `Unable to attach or mount volumes: ${volumes}: error processing PVC default/data: PVC is not bound`;
  expect(node.published('a')?.errors).toEqual([problem]);
  expect(new Set(node.events)).toEqual(new Set([`FailedMount ${problem}`]));
  const bound = claim(source);
  facts.put(claimKey(name), { ...bound, volume: bound.volume && { ...bound.volume, gid: '77' } });
  await node.untilReady('a');
  expect(node.published('a')).toEqual({
    ...{ ref: { namespace: 'default', name: 'a', uid: 'a' }, ready: true, supplementalGroups: [77] },
    volumes: { v: { hostPath: join(dir, 'data') } },
  });
});

describe('a volume of a CSI driver', () => {
  const source: CsiPersistentVolume = {
    ...{ kind: 'csi', driver: 'd.test', volumeHandle: 'h1', readOnly: false, volumeAttributes: {} },
    nodeStageSecret: { namespace: 'csi', name: 'key' },
  };
  const unique = uniqueCsiVolume(source);
  const say = (volumesInUse: string[], volumesAttached: string[]) =>
    ({
      ...{ name: 'node0', uid: 'n', resourceVersion: '1', labels: {}, annotations: {}, taints: [], podCIDRs: [] },
      ...{ unschedulable: false, addresses: [], capacity: {}, allocatable: {}, deleting: false },
      ...{ volumesInUse, volumesAttached },
    }) as const;

  test('waits for each fact that the node needs, and is made with them', async () => {
    const made: VolumeStep[] = [];
    const all = Promise.withResolvers<undefined>();
    const make = (step: VolumeStep) => {
      if (made.push(step) === 5) all.resolve(undefined);
      return Promise.resolve({ volume: { hostPath: '/made' } });
    };
    const [facts, drivers, secrets] = [claims(), node.cache.owner(csiDriver), node.cache.owner(cachedObject)];
    const attachments = node.cache.owner(volumeAttachment);
    const nodes = node.agent.owner(clusterNode);
    await start({ make });
    for (const uid of ['a', 'b']) node.want(using(uid));
    const awaits = async (text: string | undefined) => {
      for (const uid of ['a', 'b']) await node.until(() => node.published(uid)?.awaits?.[0] === text);
      expect(made).toEqual([]);
    };
    await awaits('claim default/data from the API server');
    facts.put(claimKey(name), claim(source));
    await awaits('the CSIDrivers of the cluster');
    drivers.complete();
    await awaits('the Node object');
    nodes.put('node0', say([], []));
    await awaits(`${unique} in volumesInUse of the Node object`);
    nodes.put('node0', say([unique], []));
    await awaits(`the attachment of ${unique} to the node`);
    nodes.put('node0', say([unique], [unique]));
    await awaits(`the VolumeAttachment of ${unique}`);
    const attachment = { name: 'csi-1', driver: 'd.test', volumeHandle: 'h1', attached: true, metadata: { path: 'x' } };
    attachments.put('csi-1', attachment);
    await awaits('Secret csi/key from the API server');
    const secret = { kind: 'Secret', namespace: 'csi', name: 'key' } as const;
    secrets.put('Secret/csi/key', { ...secret, state: 'present', version: '5', uid: 's', keys: [] });
    for (const uid of ['a', 'b']) await node.untilReady(uid);
    expect(made).toHaveLength(2);
    expect(made[0]).toMatchObject({
      publishContext: { path: 'x' },
      stageSecret: { ...secret, version: '5' },
      tellPod: false,
    });
    // A driver that is described later, and a changed Node object, affect only the pods that use them.
    node.want(podWith('other', [{ name: 'disk', emptyDir: {} }]));
    await node.untilReady('other');
    const described = { name: 'd.test', attachRequired: true, podInfoOnMount: true, requiresRepublish: false };
    const rest = { seLinuxMount: false, fsGroupPolicy: 'File', lifecycleModes: ['Persistent'], tokenRequests: [] };
    drivers.put('d.test', { ...described, ...rest });
    await all.promise;
    expect(made.slice(3)).toMatchObject([{ tellPod: true }, { tellPod: true }]);
  });
});
