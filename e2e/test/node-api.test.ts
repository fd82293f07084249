// What people of the machine ask a whole node for that is about no pod.
import { expect } from '@jest/globals';
import { askNode, poll } from '@kubus/harness';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedNode } from '../src/node-tests.ts';

const onNode = sharedNode('node-api');

onNode('the level of every process’s log is set for as long as node-api lives', async (node) => {
  const { instances } = node.watch;
  expect(instances).toEqual(expect.arrayContaining(['launcher-0', 'node-api-0', 'pod-workers-0', 'cri-bridge-0']));
  const said = (text: string, processes: readonly string[]) =>
    poll(`every process says: ${text}`, async () => {
      const files = (await readdir(node.dir.logs)).map((name) => join(node.dir.logs, name));
      const logs = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
      const lines = logs.split('\n').filter((line) => line.includes(text));
      return processes.every((name) => lines.some((line) => line.includes(`"instance":"${name}"`))) || undefined;
    });
  const answer = await askNode(node.dir, '/debug/flags/v', { method: 'PUT', body: '5' });
  expect(answer).toBe('successfully set klog.logging.verbosity to 5\n');
  await said('"verbosity":5', instances);
  await node.restart('node-api-0');
  // The next one has never been told of another level.
  await said(
    'as much is logged as is configured',
    instances.filter((name) => name !== 'node-api-0'),
  );
});

onNode('the logs of the machine are served', async (node) => {
  const before = await readdir('/var/log');
  const page = await askNode(node.dir, '/logs/');
  const after = new Set(await readdir('/var/log'));
  const links = [...page.matchAll(/^<a href="\.\/([^"]*)">/gm)].map(([, link = '']) =>
    decodeURIComponent(link).replace(/\/$/, ''),
  );
  expect(page).toContain('<pre>');
  expect(links).toEqual(expect.arrayContaining(before.filter((name) => after.has(name))));
});
