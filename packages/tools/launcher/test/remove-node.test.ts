import { execFileSync } from 'node:child_process';
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cgroupHierarchies } from '@kubus/cgroup';
import { takeSnapshot } from '../src/node/machine-snapshot.ts';
import { createNetworkNamespace, inNetworkNamespace } from '../src/network/network-namespace.ts';
import { nodeDir } from '../src/node/node-dir.ts';
import { removeNode } from '../src/node/remove-node.ts';
import { shimSocket } from '../src/runtime/runtime-removal.ts';
import { startProcess } from '../src/processes/start-process.ts';
import { testFolder, testNode } from './support.ts';

test('removing a node that does not exist is harmless', async () => {
  const folder = await testFolder();
  const dir = nodeDir('none', { base: join(folder, 'lib'), runBase: join(folder, 'run') });
  await removeNode(dir);
  await removeNode(dir);
});

test('the socket of a shim that the runtime no longer lists is removed; it is found by the log', async () => {
  const dir = await testNode();
  const [own, other] = ['a', 'b'].map((digit) => shimSocket(dir.socket('containerd'), digit.repeat(64)));
  await mkdir(dir.logs, { recursive: true });
  await writeFile(dir.containerd.log, `msg="starting signal loop" path=/state/k8s.io/${'a'.repeat(64)} pid=7\n`);
  await mkdir(dirname(own ?? ''), { recursive: true });
  await Promise.all([own, other].map((socket) => writeFile(socket ?? '', '')));
  try {
    await removeNode(dir);
    await expect(access(own ?? '')).rejects.toMatchObject({ code: 'ENOENT' });
    await access(other ?? '');
  } finally {
    await rm(other ?? '', { force: true });
  }
});

test('a node is removed with everything it has, and nothing else is removed', async () => {
  const dir = await testNode();
  const ofTheHost = await testFolder();
  await writeFile(join(ofTheHost, 'precious'), 'kept');
  await createNetworkNamespace(dir.networkNamespace);
  const [hierarchy = ''] = await cgroupHierarchies();
  const cgroup = join(hierarchy, dir.cgroupRoot, 'pod');
  await mkdir(cgroup, { recursive: true });
  const volume = join(dir.pods, 'uid', 'volumes', 'host');
  await mkdir(volume, { recursive: true });
  execFileSync('mount', ['--bind', ofTheHost, volume]);
  const service = await startProcess({
    dir,
    what: 'service',
    command: inNetworkNamespace(dir.networkNamespace, ['sh', '-c', `sleep 1000 & cd ${volume}; exec sleep 1000`]),
    log: join(dir.logs, 'service.log'),
  });
  const about = [dir.root, dir.run, dir.cgroupRoot];
  const before = await takeSnapshot({ folders: [dir.root, dir.run], about });
  for (const aspect of ['processes', 'mounts', 'network namespaces', 'cgroups', 'files'] as const) {
    expect(before[aspect]).not.toEqual([]);
  }

  await removeNode(dir);
  expect(await service.exited).toBe('SIGTERM');
  expect(Object.values(await takeSnapshot({ folders: [dir.root, dir.run], about })).flat()).toEqual([]);
  for (const folder of [dir.root, dir.run, dirname(dir.run)]) {
    await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  }
  expect(await readFile(join(ofTheHost, 'precious'), 'utf8')).toBe('kept');
});
