import { execFileSync } from 'node:child_process';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cgroupHierarchies } from '@kubus/cgroup';
import { takeSnapshot } from '../src/machine-snapshot.ts';
import { createNetworkNamespace, inNetworkNamespace } from '../src/network-namespace.ts';
import { nodeDir } from '../src/node-dir.ts';
import { removeNode } from '../src/remove-node.ts';
import { startProcess } from '../src/start-process.ts';
import { testFolder, testNode } from './support.ts';

test('a node that is not there is removed without harm, twice', async () => {
  const folder = await testFolder();
  const dir = nodeDir('none', { base: join(folder, 'lib'), runBase: join(folder, 'run') });
  await removeNode(dir);
  await removeNode(dir);
});

test('a node goes with all that it has, and nothing else does', async () => {
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
