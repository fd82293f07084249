import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { mount, mountsBelow, unmount } from '@kubus/mount';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPodFiles, readResolvConf, writeHostsFile } from '../src/pod-files.ts';

let dir: string;
let root: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'kubus-pod-files-')));
  root = join(dir, 'root');
  mkdirSync(root);
});
afterEach(async () => {
  for (const { target } of await mountsBelow(dir)) await unmount(target);
  rmSync(dir, { recursive: true });
});

const pod = (uid: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid },
  spec: { containers: [], ...spec },
});

describe('a pod’s hosts file', () => {
  test('has the pod’s addresses of now, for everybody to read', async () => {
    const of = pod('u', { subdomain: 'sub', hostAliases: [{ ip: '10.0.0.9', hostnames: ['db'] }] });
    const input = { clusterDomain: 'cluster.local' };
    const path = await writeHostsFile(root, of, { ...input, podIps: ['10.88.0.5'] });
    expect(path).toBe(join(root, 'pods/u/etc-hosts'));
    expect(readFileSync(path, 'utf8')).toContain('10.88.0.5\tweb.sub.shop.svc.cluster.local\tweb\n');
    expect(readFileSync(path, 'utf8')).toContain('10.0.0.9\tdb\n');
    expect(statSync(path).mode & 0o777).toBe(0o644);
    const before = statSync(path).ino;
    await writeHostsFile(root, of, { ...input, podIps: ['10.88.0.5'] });
    expect(statSync(path).ino).toBe(before);
    await writeHostsFile(root, of, { ...input, podIps: ['10.88.0.6'] });
    expect(readFileSync(path, 'utf8')).toContain('10.88.0.6\tweb');
    expect(readFileSync(path, 'utf8')).not.toContain('10.88.0.5');
    expect(readdirSync(join(root, 'pods/u'))).toEqual(['etc-hosts']);
  });

  test('in the host’s network is the node’s own', async () => {
    const path = await writeHostsFile(root, pod('u', { hostNetwork: true }), { clusterDomain: '', podIps: [] });
    const text = readFileSync(path, 'utf8');
    expect(text).toBe(`# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}`);
  });
});

test('the node’s name resolution is read, unless none is configured', async () => {
  writeFileSync(join(dir, 'resolv.conf'), 'nameserver 192.0.2.1\n');
  expect(await readResolvConf(join(dir, 'resolv.conf'))).toBe('nameserver 192.0.2.1\n');
  expect(await readResolvConf('')).toBeUndefined();
  await expect(readResolvConf(join(dir, 'missing'))).rejects.toThrow('ENOENT');
});

describe('removing a pod’s files', () => {
  const ref = { namespace: 'shop', name: 'web', uid: 'u' };

  test('takes its folder and its logs, and nothing of others', async () => {
    const files = createPodFiles({ root, logs: join(dir, 'logs') });
    await files.makeLogFolder(ref, 'main');
    for (const uid of ['u', 'other']) mkdirSync(join(root, 'pods', uid, 'x'), { recursive: true });
    await files.remove(ref);
    await files.remove(ref);
    expect(readdirSync(join(root, 'pods'))).toEqual(['other']);
    expect(readdirSync(join(dir, 'logs'))).toEqual([]);
  });

  test('does not go through a mount, also when the node’s folder is a link', async () => {
    const kept = join(dir, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'file'), 'kept');
    const target = join(root, 'pods/u/volumes/v');
    mkdirSync(target, { recursive: true });
    await mount({ type: 'none', source: kept, target, options: ['bind'] });
    symlinkSync(root, join(dir, 'link'));
    const files = createPodFiles({ root: join(dir, 'link'), logs: join(dir, 'logs') });
    await expect(files.remove(ref)).rejects.toThrow(`${target} is a mount`);
    expect(readFileSync(join(kept, 'file'), 'utf8')).toBe('kept');
    await unmount(target);
    await files.remove(ref);
    expect(existsSync(join(root, 'pods/u'))).toBe(false);
    expect(readFileSync(join(kept, 'file'), 'utf8')).toBe('kept');
  });

  test('refuses a UID that leads out of the pods’ folder', async () => {
    writeFileSync(join(dir, 'file'), 'kept');
    const files = createPodFiles({ root, logs: join(dir, 'logs') });
    await files.makeLogFolder(ref, 'main');
    await expect(files.remove({ ...ref, uid: '../..' })).rejects.toThrow('can not be the name of a folder');
    expect(readdirSync(dir).sort()).toEqual(['file', 'logs', 'root']);
    expect(readdirSync(join(dir, 'logs'))).toHaveLength(1);
  });
});
