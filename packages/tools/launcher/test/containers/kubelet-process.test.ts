import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { checkNoKubelet } from '../../src/containers/kubelet-process.ts';
import { testFolder } from '../support.ts';

/** A procfs with processes of these names, in one state; files that are no processes are in every procfs. */
async function procOf(names: readonly string[], state = 'S'): Promise<string> {
  const proc = await testFolder();
  await writeFile(join(proc, 'uptime'), '1 1\n');
  for (const [index, name] of names.entries()) {
    await mkdir(join(proc, String(index + 1)));
    await writeFile(join(proc, String(index + 1), 'stat'), `${index + 1} (${name}) ${state} 1 1 0\n`);
  }
  return proc;
}

test.each(['kubelet', 'kubelite', 'k3s-server', 'k3s-agent'])(
  'a machine with %s is refused, with what to use instead',
  async (name) => {
    await expect(checkNoKubelet(await procOf(['systemd', name]))).rejects.toMatchObject({
      code: 'KubeletRuns',
      message: expect.stringMatching(
        new RegExp(`process 2, ${name}\\..*charts/kubus.*KUBUS_BESIDE_KUBELET=true`),
      ) as unknown,
    });
  },
);

test('a machine without a kubelet is accepted, whatever else has its name in it, and processes that end meanwhile', async () => {
  const proc = await procOf(['systemd', 'kubelet-wrapper', 'containerd']);
  await mkdir(join(proc, '99'));
  await expect(checkNoKubelet(proc)).resolves.toBeUndefined();
});

test('a kubelet that has ended does not count', async () => {
  await expect(checkNoKubelet(await procOf(['kubelet'], 'Z'))).resolves.toBeUndefined();
});
