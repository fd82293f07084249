import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { listNodes, nodeNames } from '../src/node/list-nodes.ts';
import { createNodeDir, nodeDir } from '../src/node/node-dir.ts';
import { settingsFile } from '../src/node/node-settings.ts';
import { startProcess } from '../src/processes/start-process.ts';
import { afterTest, testFolder } from './support.ts';

test('nodes are listed in every state; other files and folders are none', async () => {
  const folder = await testFolder();
  const options = { base: join(folder, 'lib'), runBase: join(folder, 'run') };
  expect(await listNodes(options)).toEqual([]);
  const dirOf = (name: string) => nodeDir(name, options);
  const long = 'a'.repeat(150);
  for (const name of ['running', 'stopped', 'incomplete', 'killed', 'left', long]) await createNodeDir(dirOf(name));
  for (const name of ['running', 'stopped', 'killed']) await writeFile(settingsFile(dirOf(name)), '{}');
  await rm(dirOf('left').root, { recursive: true });
  await mkdir(join(options.base, 'composed', 'containers'), { recursive: true });
  await mkdir(join(options.base, 'Not_A_Name'));
  await writeFile(join(options.base, 'file'), '');
  for (const [name, what] of [
    ['running', 'launcher'],
    ['killed', 'sync-loop-0'],
  ] as const) {
    const dir = dirOf(name);
    const process = await startProcess({ dir, what, command: ['sleep', '1000'], log: join(dir.logs, 'log') });
    afterTest(() => process.end(0));
  }
  const listed = (await listNodes(options)).map(({ dir, state, memoryBytes }) => [
    dir.node,
    state,
    (memoryBytes ?? 1) > 0,
  ]);
  expect(listed).toEqual([
    [long, 'Incomplete', false],
    ['composed', 'Containers', true],
    ['incomplete', 'Incomplete', false],
    ['killed', 'NoLauncher', true],
    ['left', 'Incomplete', false],
    ['running', 'Running', true],
    ['stopped', 'Stopped', false],
  ]);
  const [first] = await listNodes(options);
  expect(Date.now() - (first?.createdAt.getTime() ?? 0)).toBeLessThan(600_000);
  expect(await nodeNames(options)).toEqual(listed.map(([name]) => name));
});
