import { describe, expect, test } from '@jest/globals';
import type { PersistentVolume, Pod, VolumeClaim } from '@kubus/contracts';
import { type VolumeStep, planLocal, planNfs, planVolumes, pluginName } from '../src/index.ts';

const settings = { root: '/k', memory: 0n, noSwap: false };
const pod: Pod = {
  metadata: { name: 'p', namespace: 'default', uid: 'u1' },
  spec: { containers: [], securityContext: { fsGroup: 5, fsGroupChangePolicy: 'OnRootMismatch' } },
};
const claim = { namespace: 'default', name: 'data' };

describe('a local volume', () => {
  const volume = { name: 'v', specName: 'pv', path: '/d', block: false, mountOptions: ['noatime'], readOnly: false };

  test('is mounted in the pod’s folder, under the name of its PersistentVolume', () => {
    expect(planLocal(pod, { ...volume, claim }, settings)).toEqual({
      name: 'v',
      step: {
        kind: 'local',
        path: '/k/pods/u1/volumes/kubernetes.io~local-volume/pv',
        uid: 'u1',
        specName: 'pv',
        source: '/d',
        deviceFolder: '/k/plugins/kubernetes.io/local-volume/mounts/pv',
        fsType: 'ext4',
        mountOptions: ['noatime'],
        readOnly: false,
        ownership: { gid: 5, readOnly: false, policy: 'OnRootMismatch' },
        claim,
      },
    });
  });

  test('that is read-only keeps its files’ owners', () => {
    const { step } = planLocal(pod, { ...volume, readOnly: true, fsType: 'xfs' }, settings) as { step: object };
    expect(step).toMatchObject({ readOnly: true, fsType: 'xfs' });
    expect(step).not.toHaveProperty('ownership');
  });

  test('may be a device', () => {
    expect(planLocal(pod, { ...volume, block: true }, settings)).toEqual({
      name: 'v',
      step: {
        kind: 'localDevice',
        path: '/k/pods/u1/volumeDevices/kubernetes.io~local-volume/pv',
        source: '/d',
        held: '/k/plugins/kubernetes.io~local-volume/volumeDevices/pv/u1',
      },
    });
  });

  test.each([true, false])('is never mounted outside the pod’s folder (block: %p)', (block) => {
    expect(() => planLocal(pod, { ...volume, block, specName: '..' }, settings)).toThrow('".." cannot be the name');
    expect(planLocal(pod, { ...volume, block, path: '/a/../b' }, settings)).toHaveProperty('refusal');
  });
});

describe('an NFS volume', () => {
  const volume = { name: 'v', specName: 'pv', server: 'nas', path: '/x', readOnly: false, mountOptions: [] };

  test('may be specified by the pod itself', () => {
    const nfs = { server: 'nas', path: '/x', readOnly: true };
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const spec = { volumes: [{ name: 'v', nfs }], containers: [{ name: 'c', volumeMounts }] };
    const nothing = () => undefined;
    const ofClaims = { claim: nothing, csiDriver: nothing, attachment: nothing, node: nothing };
    const known = { object: nothing, ...ofClaims, trustBundles: nothing, allocatable: nothing };
    expect(planVolumes({ ...pod, spec }, settings, known)).toEqual([
      {
        name: 'v',
        step: {
          kind: 'nfs',
          path: '/k/pods/u1/volumes/kubernetes.io~nfs/v',
          source: 'nas:/x',
          options: ['ro'],
          readOnly: true,
        },
      },
    ]);
  });

  test('of a claim has the options of its PersistentVolume, each once, and the server’s address in brackets', () => {
    const mountOptions = ['nfsvers=4.2', '', 'ro'];
    const plan = planNfs(pod, { ...volume, server: 'fd00::1', readOnly: true, mountOptions, claim }, settings);
    expect(plan).toMatchObject({ step: { source: '[fd00::1]:/x', options: ['nfsvers=4.2', 'ro'], claim } });
  });
});

describe('the volume of a claim', () => {
  type Source = PersistentVolume['source'];
  const planned = (source: Source, volumeMode: 'Filesystem' | 'Block' = 'Filesystem') => {
    const common = { accessModes: ['ReadWriteOnce'], volumeMode };
    const persistent = { name: 'pv', uid: 'p1', claimUid: 'c1', mountOptions: ['noatime'], source, ...common };
    const present: VolumeClaim = {
      ...{ state: 'present', ...claim, uid: 'c1', deleting: false, protected: true, phase: 'Bound', volumeName: 'pv' },
      ...{ resizePending: false, volume: persistent, ...common },
    };
    const nothing = () => undefined;
    const ofClaims = { claim: () => present, csiDriver: nothing, attachment: nothing, node: nothing };
    const known = { object: nothing, ...ofClaims, trustBundles: nothing, allocatable: nothing };
    const use =
      volumeMode === 'Block'
        ? { volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] }
        : { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: claim.name } }];
    return planVolumes({ ...pod, spec: { volumes, containers: [{ name: 'c', ...use }] } }, settings, known)[0];
  };
  const local = { kind: 'local', path: '/disk', fsType: 'xfs' } as const;
  const nfs = { kind: 'nfs', server: 'nas', path: '/x', readOnly: false } as const;

  test('is mounted under the name of its PersistentVolume, with its options', () => {
    const common = { claim, readOnly: false };
    expect(planned(local)).toMatchObject({
      specName: 'pv',
      step: { kind: 'local', specName: 'pv', source: '/disk', fsType: 'xfs', mountOptions: ['noatime'], ...common },
    });
    const path = '/k/pods/u1/volumes/kubernetes.io~nfs/pv';
    expect(planned(nfs)).toMatchObject({
      specName: 'pv',
      step: { kind: 'nfs', path, options: ['noatime'], ...common },
    });
  });

  test('may be a device if it is a local one', () => {
    expect(planned(local, 'Block')).toMatchObject({ step: { kind: 'localDevice', source: '/disk' } });
    expect(planned(nfs, 'Block')).toHaveProperty('refusal', 'this version of Kubus does not mount nfs block volumes');
  });
});

test.each<[VolumeStep, string]>([
  [{ kind: 'host', path: '/x', type: '' }, 'kubernetes.io/host-path'],
  [{ kind: 'folder', path: '/k/pods/u/volumes/kubernetes.io~empty-dir/v', mode: 0 }, 'kubernetes.io/empty-dir'],
  [
    { kind: 'localDevice', path: '/k/pods/u/volumeDevices/kubernetes.io~local-volume/pv', source: '/d', held: '/h' },
    'kubernetes.io/local-volume',
  ],
])('the plugin name of %p is %s', (step, name) => {
  expect(pluginName(step)).toBe(name);
});
