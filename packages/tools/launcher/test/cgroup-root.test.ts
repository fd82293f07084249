import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cgroupHierarchies, cgroupTree } from '@kubus/cgroup';
import { removeCgroupRoot } from '../src/runtime/cgroup-root.ts';
import { testNode } from './support.ts';

test('the cgroup of a node is removed from every hierarchy, and its processes are killed', async () => {
  const { cgroupRoot } = await testNode();
  const hierarchies = await cgroupHierarchies();
  const process = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(process, 'spawn');
  for (const hierarchy of hierarchies) {
    const pod = join(hierarchy, cgroupRoot, 'pod');
    await mkdir(join(pod, 'container'), { recursive: true });
    // A cpuset takes no process before it has CPUs and memory of its own (v1).
    if (await isThere(join(pod, 'cpuset.cpus'))) {
      for (const file of ['cpuset.cpus', 'cpuset.mems']) {
        const all = await readFile(join(hierarchy, file), 'utf8').catch(() => '');
        for (const group of [join(pod, '..'), pod, join(pod, 'container')]) {
          await writeFile(join(group, file), all).catch(() => undefined);
        }
      }
    }
    await writeFile(join(pod, 'container', 'cgroup.procs'), String(process.pid));
  }
  expect(await cgroupTree(cgroupRoot)).toHaveLength(3 * hierarchies.length);
  const exited = once(process, 'exit');
  await removeCgroupRoot(cgroupRoot);
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(await cgroupTree(cgroupRoot)).toEqual([]);
  await removeCgroupRoot(cgroupRoot);
});

test.each(['/', '', '/system.slice', '/kubus-a/..', '/kubus-a/b'])(
  '"%s" is not removed, since it is not the cgroup of a node',
  async (cgroup) => {
    await expect(removeCgroupRoot(cgroup)).rejects.toMatchObject({ code: 'NotANodeCgroup' });
  },
);

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
