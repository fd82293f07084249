// Folders and devices of the node as volumes, on real mounts and loop devices.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mount } from '@kubus/filesystem';
import { silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { type LocalVolume, type VolumeStep, planLocal } from '@kubus/volume';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type VolumeHost, createVolumeHost } from '../src/index.ts';
import { podWith } from './scripted-node.ts';
import { everything, makeDevice, makeRoot, removeDevice, removeRoot } from './test-root.ts';

let dir: string;
let root: string;
let host: VolumeHost;
let loops: string[];
let reported: string[];

beforeEach(() => {
  dir = makeRoot();
  root = join(dir, 'node');
  for (const name of ['node', 'disk']) mkdirSync(join(dir, name));
  loops = [];
  reported = [];
  host = newHost();
});
afterEach(async () => {
  await removeRoot(dir);
  loops.forEach(removeDevice);
});

const newHost = () => createVolumeHost({ root, clock: new ManualClock(), logger: silentLogger });

function device(): string {
  const path = makeDevice(dir);
  loops.push(path);
  return path;
}

function stepOf(uid: string, volume: Partial<LocalVolume>, fsGroup?: number): VolumeStep {
  const pod = podWith(uid, [], fsGroup === undefined ? {} : { securityContext: { fsGroup } });
  const path = join(dir, 'disk');
  const whole = { name: 'v', specName: 'pv', path, block: false, mountOptions: [], readOnly: false, ...volume };
  const plan = planLocal(pod, whole, { root });
  if (!('step' in plan)) throw new Error(JSON.stringify(plan));
  return plan.step;
}

const make = async (step: VolumeStep) => {
  const { volume } = await host.make(step, ({ reason, message }) => void reported.push(`${reason} ${message}`));
  return volume;
};
const inPod = (uid: string) => join(root, 'pods', uid, 'volumes/kubernetes.io~local-volume/pv');

describe('a local folder', () => {
  test('is mounted for each pod, and stays when they have ended', async () => {
    writeFileSync(join(dir, 'disk/file'), 'kept');
    expect(await make(stepOf('a', {}))).toEqual({ hostPath: inPod('a'), relabel: true });
    expect(await make(stepOf('b', { readOnly: true }))).toEqual({ hostPath: inPod('b'), readOnly: true });
    expect(await make(stepOf('a', {}))).toEqual({ hostPath: inPod('a'), relabel: true });
    writeFileSync(join(inPod('a'), 'new'), 'from a');
    expect(readFileSync(join(inPod('b'), 'new'), 'utf8')).toBe('from a');
    expect(() => writeFileSync(join(inPod('b'), 'new'), '')).toThrow('EROFS');
    for (const uid of ['a', 'b']) await host.remove(uid);
    expect(await everything(root)).toEqual(['750 0 pods']);
    expect(readFileSync(join(dir, 'disk/file'), 'utf8')).toBe('kept');
  });

  test('gets the group of the first pod, and only a warning for another group', async () => {
    writeFileSync(join(dir, 'disk/file'), '', { mode: 0o600 });
    await make(stepOf('a', {}, 1000));
    expect(statSync(join(dir, 'disk/file'))).toMatchObject({ gid: 1000, mode: 0o100660 });
    await make(stepOf('b', {}, 2000));
    await make(stepOf('c', {}, 1000));
    expect(statSync(join(dir, 'disk/file')).gid).toBe(1000);
    expect(reported).toEqual([
      'AlreadyMountedVolume The requested fsGroup is 2000, but the volume pv has GID 1000. The volume may not be shareable.',
    ]);
    for (const uid of ['a', 'b', 'c']) await host.remove(uid);
    await make(stepOf('d', {}, 2000));
    expect(statSync(join(dir, 'disk/file')).gid).toBe(2000);
  });

  test('whose read-only mount was interrupted is read-only after a restart', async () => {
    mkdirSync(inPod('a'), { recursive: true });
    await mount({ type: 'none', source: join(dir, 'disk'), target: inPod('a'), options: ['bind'] });
    await make(stepOf('a', { readOnly: true }));
    expect(() => writeFileSync(join(inPod('a'), 'new'), '')).toThrow('EROFS');
  });

  test('may be a link; anything but a folder or a device is refused', async () => {
    symlinkSync(join(dir, 'disk'), join(dir, 'link'));
    await make(stepOf('a', { path: join(dir, 'link') }, 1000));
    expect(statSync(join(dir, 'disk')).gid).toBe(1000);
    const missing = join(dir, 'missing');
    await expect(make(stepOf('b', { path: missing }))).rejects.toThrow(`path "${missing}" does not exist`);
    writeFileSync(missing, '');
    await expect(make(stepOf('b', { path: missing }))).rejects.toThrow('only directory and block device are supported');
    expect(planLocal(podWith('b', []), { ...bad, path: '/a/../b' }, { root })).toEqual({
      name: 'v',
      refusal: "invalid path: /a/../b must not contain '..'",
    });
  });
});
const bad = { name: 'v', specName: 'pv', block: false, mountOptions: [], readOnly: false };

describe('a device with a file system', () => {
  const mounts = 'plugins/kubernetes.io/local-volume/mounts/pv';

  test('is formatted if it is empty, mounted once for its pods, and keeps its content', async () => {
    const path = device();
    await Promise.all(['a', 'b'].map((uid) => make(stepOf(uid, { path }, 1000))));
    expect(statSync(inPod('a'))).toMatchObject({ gid: 1000, mode: 0o042775 });
    writeFileSync(join(inPod('a'), 'file'), 'kept');
    await host.remove('a');
    // Another process also finds what is left.
    host = newHost();
    expect(await host.find(stepOf('b', { path }))).toEqual({ hostPath: inPod('b'), relabel: true });
    expect(readFileSync(join(inPod('b'), 'file'), 'utf8')).toBe('kept');
    expect(await everything(root)).toContain(`2775 1000 ${mounts} ext4`);
    await host.remove('b');
    const folders = ['plugins', 'plugins/kubernetes.io', 'plugins/kubernetes.io/local-volume'];
    const empty = [...folders, 'plugins/kubernetes.io/local-volume/mounts', 'pods'].map((name) => `750 0 ${name}`);
    expect(await everything(root)).toEqual(empty);
    await make(stepOf('c', { path, readOnly: true }));
    expect(readFileSync(join(inPod('c'), 'file'), 'utf8')).toBe('kept');
    await host.remove('c');
    expect(await everything(root)).toEqual(empty);
  });

  test('is not formatted when it is read-only, or has partitions', async () => {
    const path = device();
    await expect(make(stepOf('a', { path, readOnly: true }))).rejects.toThrow(`cannot mount unformatted disk ${path}`);
    const table = Buffer.alloc(512);
    // A partition of 8 MiB from the second sector on, and the boot signature at the end of the first.
    table.set([0, 0, 2, 0, 0x83, 0, 0, 0, 1, 0, 0, 0, 0, 0x40, 0, 0], 446);
    table.set([0x55, 0xaa], 510);
    writeFileSync(path, table);
    await expect(make(stepOf('a', { path }))).rejects.toThrow(/wrong fs type|superblock/);
    expect(readFileSync(path).subarray(0, 512)).toEqual(table);
    await host.remove('a');
    expect((await everything(root)).filter((line) => line.includes('mounts/'))).toEqual([]);
  });

  test('that was mounted for a pod by an interrupted process is unmounted with that pod', async () => {
    const path = device();
    await make(stepOf('a', { path }));
    execFileSync('umount', [inPod('a')]);
    expect(await everything(root)).toContain(`755 0 ${mounts} ext4`);
    host = newHost();
    await host.remove('a');
    expect((await everything(root)).filter((line) => line.includes('ext4'))).toEqual([]);
  });
});

test('a block device is linked, pinned, and released', async () => {
  const path = device();
  const link = join(root, 'pods/a/volumeDevices/kubernetes.io~local-volume/pv');
  const held = join(root, 'plugins/kubernetes.io~local-volume/volumeDevices/pv/a');
  const step = stepOf('a', { path, block: true });
  expect(await host.find(step)).toBeUndefined();
  for (let time = 0; time < 2; time += 1) expect(await make(step)).toEqual({ hostPath: link, device: true });
  expect(await host.find(step)).toEqual({ hostPath: link, device: true });
  expect(readlinkSync(link)).toBe(path);
  expect(statSync(held).rdev).toBe(statSync(path).rdev);
  host = newHost();
  expect(await host.pods()).toEqual(['a']);
  await host.remove('a');
  expect([existsSync(held), existsSync(join(root, 'pods/a'))]).toEqual([false, false]);
  expect(lstatSync(path).isBlockDevice()).toBe(true);
  const refused = make(stepOf('a', { block: true }));
  await expect(refused).rejects.toThrow(`path "${join(dir, 'disk')}" is not a block device`);
});
