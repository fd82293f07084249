import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rmdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cgroupHierarchies } from '@kubus/cgroup';
import { type MachineSnapshot, diffSnapshots, takeSnapshot } from '../src/node/machine-snapshot.ts';
import { createNetworkNamespace } from '../src/network/network-namespace.ts';
import { nodeMark } from '../src/processes/process-record.ts';
import { afterTest, testNode } from './support.ts';

const nothing: MachineSnapshot = {
  processes: [],
  mounts: [],
  'network namespaces': [],
  links: [],
  cgroups: [],
  'firewall rules': [],
  files: [],
};

test('duplicates are counted', () => {
  const before = { ...nothing, mounts: ['/a', '/b', '/b'], links: ['lo'] };
  const after = { ...nothing, mounts: ['/a', '/a', '/b'], files: ['/f'] };
  expect(diffSnapshots(before, after)).toEqual([
    { aspect: 'mounts', change: 'added', entry: '/a' },
    { aspect: 'mounts', change: 'removed', entry: '/b' },
    { aspect: 'links', change: 'removed', entry: 'lo' },
    { aspect: 'files', change: 'added', entry: '/f' },
  ]);
  expect(diffSnapshots(after, after)).toEqual([]);
});

test('a snapshot lists each kind of leftover of a node, and nothing after its removal', async () => {
  const dir = await testNode();
  const extra = join(dir.run, 'net');
  const take = (networkNamespaces: string[] = []) =>
    takeSnapshot({ folders: [dir.run], networkNamespaces, about: [dir.run, dir.cgroupRoot, dir.root] });
  const before = await take();

  await createNetworkNamespace(extra);
  const inside = (...command: string[]) => execFileSync('nsenter', [`--net=${extra}`, ...command]);
  inside('ip', 'link', 'add', 'test0', 'type', 'bridge');
  inside('iptables', '-t', 'nat', '-N', 'KUBUS-TEST');
  await mkdir(join(dir.run, 'mount'));
  execFileSync('mount', ['-t', 'tmpfs', 'test', join(dir.run, 'mount')]);
  const [hierarchy = ''] = await cgroupHierarchies();
  await mkdir(join(hierarchy, dir.cgroupRoot));
  afterTest(() => rmdir(join(hierarchy, dir.cgroupRoot)).catch(() => undefined));
  await mkdir(join(dir.run, 'folder'));
  await writeFile(join(dir.run, 'folder', 'file'), '');
  await symlink('/nowhere', join(dir.run, 'link'));
  const child = spawn('sleep', ['1000'], { env: { ...process.env, [nodeMark]: dir.root }, stdio: 'ignore' });
  await once(child, 'spawn');

  const after = await take([extra]);
  // Where nft is installed it lists the same chain once more.
  const changes = diffSnapshots(before, after).filter(({ entry }) => !entry.startsWith(`${extra}: nft: `));
  expect(changes.map(({ aspect, change, entry }) => `${change} ${aspect}: ${entry}`)).toEqual([
    `added processes: sleep 1000 ${nodeMark}=${dir.root}`,
    `added mounts: ${dir.run}/mount (tmpfs)`,
    `added network namespaces: ${extra}`,
    `added links: ${extra}: lo`,
    `added links: ${extra}: test0`,
    `added cgroups: ${hierarchy}${dir.cgroupRoot}`,
    ...[
      '*nat',
      ':INPUT ACCEPT',
      ':KUBUS-TEST -',
      ':OUTPUT ACCEPT',
      ':POSTROUTING ACCEPT',
      ':PREROUTING ACCEPT',
      'COMMIT',
    ].map((rule) => `added firewall rules: ${extra}: iptables-save: ${rule}`),
    ...['folder/', 'folder/file', 'link', 'mount/', 'net'].map((file) => `added files: ${dir.run}/${file}`),
  ]);

  child.kill();
  await once(child, 'exit');
  execFileSync('umount', [join(dir.run, 'mount'), extra]);
  execFileSync('rm', ['-r', join(dir.run, 'mount'), join(dir.run, 'folder'), join(dir.run, 'link'), extra]);
  await rmdir(join(hierarchy, dir.cgroupRoot));
  expect(diffSnapshots(before, await take())).toEqual([]);
});
