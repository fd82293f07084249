import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import { mount, mountsBelow, unmount } from '@kubus/filesystem';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PodFilesOptions, createPodFiles } from '../src/files/pod-files.ts';
import type { PodFiles } from '../src/ports.ts';

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

const filesOf = (options: Partial<PodFilesOptions> = {}): PodFiles =>
  createPodFiles({ root, logs: join(dir, 'logs'), clusterDomain: 'cluster.local', resolvConf: '', ...options });

const pod = (uid: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid },
  spec: { containers: [], ...spec },
});

describe('a pod’s hosts file', () => {
  test('has the pod’s current addresses, and is readable by every user', async () => {
    const of = pod('u', { subdomain: 'sub', hostAliases: [{ ip: '10.0.0.9', hostnames: ['db'] }] });
    const files = filesOf();
    const path = await files.writeHostsFile(of, ['10.88.0.5']);
    expect(path).toBe(join(root, 'pods/u/etc-hosts'));
    expect(readFileSync(path, 'utf8')).toContain('10.88.0.5\tweb.sub.shop.svc.cluster.local\tweb\n');
    expect(readFileSync(path, 'utf8')).toContain('10.0.0.9\tdb\n');
    expect(statSync(path).mode & 0o777).toBe(0o644);
    const before = statSync(path).ino;
    await files.writeHostsFile(of, ['10.88.0.5']);
    expect(statSync(path).ino).toBe(before);
    await files.writeHostsFile(of, ['10.88.0.6']);
    expect(readFileSync(path, 'utf8')).toContain('10.88.0.6\tweb');
    expect(readFileSync(path, 'utf8')).not.toContain('10.88.0.5');
    expect(readdirSync(join(root, 'pods/u'))).toEqual(['etc-hosts']);
  });

  test.each([
    ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
    ['a link', (path: string) => symlinkSync(join(dir, 'of-the-host'), path)],
  ])('replaces %s that a container has put there', async (_, put) => {
    writeFileSync(join(dir, 'of-the-host'), 'kept');
    mkdirSync(join(root, 'pods/u'), { recursive: true });
    for (const name of ['etc-hosts', 'etc-hosts.part']) put(join(root, 'pods/u', name));
    const path = await filesOf().writeHostsFile(pod('u'), ['10.88.0.5']);
    expect(readFileSync(path, 'utf8')).toContain('10.88.0.5');
    expect(readFileSync(join(dir, 'of-the-host'), 'utf8')).toBe('kept');
  });

  test('in the host’s network is the node’s own', async () => {
    const path = await filesOf({ clusterDomain: '' }).writeHostsFile(pod('u', { hostNetwork: true }), []);
    const text = readFileSync(path, 'utf8');
    expect(text).toBe(`# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}`);
  });
});

test('the node’s resolv.conf is read, unless none is configured', async () => {
  writeFileSync(join(dir, 'resolv.conf'), 'nameserver 192.0.2.1\n');
  const read = (resolvConf: string) => filesOf({ resolvConf }).readResolvConf();
  expect(await read(join(dir, 'resolv.conf'))).toBe('nameserver 192.0.2.1\n');
  expect(await read('')).toBeUndefined();
  await expect(read(join(dir, 'missing'))).rejects.toThrow('ENOENT');
});

describe('removing a pod’s files', () => {
  const ref = { namespace: 'shop', name: 'web', uid: 'u' };

  test('removes its folder and its logs, and no other files', async () => {
    const files = filesOf();
    await files.makeLogFolder(ref, 'main');
    for (const uid of ['u', 'other']) mkdirSync(join(root, 'pods', uid, 'x'), { recursive: true });
    await files.remove(ref);
    await files.remove(ref);
    expect(readdirSync(join(root, 'pods'))).toEqual(['other']);
    expect(readdirSync(join(dir, 'logs'))).toEqual([]);
  });

  test('succeeds for a pod whose name is too long for a folder', async () => {
    const files = filesOf();
    const long = { ...ref, name: 'a'.repeat(250) };
    await expect(files.makeLogFolder(long, 'main')).rejects.toThrow('ENAMETOOLONG');
    await files.remove(long);
  });

  test('does not remove mounted content, also when the node’s folder is a link', async () => {
    const kept = join(dir, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'file'), 'kept');
    const target = join(root, 'pods/u/volumes/v');
    mkdirSync(target, { recursive: true });
    await mount({ type: 'none', source: kept, target, options: ['bind'] });
    symlinkSync(root, join(dir, 'link'));
    const files = filesOf({ root: join(dir, 'link') });
    await expect(files.remove(ref)).rejects.toThrow(`${target} is a mount`);
    expect(readFileSync(join(kept, 'file'), 'utf8')).toBe('kept');
    await unmount(target);
    await files.remove(ref);
    expect(existsSync(join(root, 'pods/u'))).toBe(false);
    expect(readFileSync(join(kept, 'file'), 'utf8')).toBe('kept');
  });

  test('refuses a UID that leads out of the pods’ folder', async () => {
    writeFileSync(join(dir, 'file'), 'kept');
    const files = filesOf();
    await files.makeLogFolder(ref, 'main');
    await expect(files.remove({ ...ref, uid: '../..' })).rejects.toThrow('cannot be the name of a folder');
    expect(readdirSync(dir).sort()).toEqual(['file', 'logs', 'root']);
    expect(readdirSync(join(dir, 'logs'))).toHaveLength(1);
  });
});

describe('links to logs', () => {
  const ref = { namespace: 'shop', name: 'web', uid: 'u' };
  const id = 'f'.repeat(64);
  let links: string;
  let files: PodFiles;

  beforeEach(() => {
    links = join(dir, 'links');
    files = filesOf({ logLinks: links });
  });

  test('are created once per run, also in a missing folder, under the name that collectors expect', async () => {
    await files.linkLog(ref, { name: 'main', attempt: 2, id });
    await files.linkLog(ref, { name: 'main', attempt: 2, id });
    expect(readdirSync(links)).toEqual([`web_shop_main-${id}.log`]);
    expect(readlinkSync(join(links, `web_shop_main-${id}.log`))).toBe(join(dir, 'logs/shop_web_u/main/2.log'));
  });

  test('have names that are short enough for the file system', async () => {
    const long = { ...ref, name: 'a'.repeat(253) };
    await files.linkLog(long, { name: 'main', attempt: 0, id });
    expect(readdirSync(links)).toEqual([`${'a'.repeat(251)}.log`]);
  });

  test('replace leftovers of another run', async () => {
    mkdirSync(links);
    const path = join(links, `web_shop_main-${id}.log`);
    for (const leave of [() => symlinkSync('/elsewhere', path), () => writeFileSync(path, '')]) {
      rmSync(path, { force: true });
      leave();
      await files.linkLog(ref, { name: 'main', attempt: 0, id });
      expect(readlinkSync(path)).toBe(join(dir, 'logs/shop_web_u/main/0.log'));
    }
  });

  test('are removed with their run or pod, and no others', async () => {
    await files.linkLog(ref, { name: 'main', attempt: 0, id: 'id0' });
    await files.linkLog(ref, { name: 'main', attempt: 1, id: 'id1' });
    await files.linkLog({ ...ref, uid: 'other' }, { name: 'main', attempt: 0, id: 'id2' });
    await files.removeRun(ref, { name: 'main', attempt: 0, id: 'id0' });
    expect(readdirSync(links)).toEqual(['web_shop_main-id1.log', 'web_shop_main-id2.log']);
    await files.remove(ref);
    expect(readdirSync(links)).toEqual(['web_shop_main-id2.log']);
  });
});
