// Requests of users of the machine that concern the whole node.
import { expect } from '@jest/globals';
import { askNode, poll } from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { onNode } from './node.ts';
import { podRunning } from '../../src/pods.ts';

onNode('the log level of every process is set until node-api ends', async (node) => {
  const instances = await node.watch.until('the services have announced themselves', () => {
    const known = node.watch.instances;
    return ['launcher-0', 'node-api-0', 'pod-workers-0', 'cri-bridge-0'].every((name) => known.includes(name))
      ? known
      : undefined;
  });
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
  // The restarted one has never received another level.
  await said(
    'the configured log level applies',
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

onNode(
  'a container is checkpointed to a file if the runtime supports it, otherwise the reason is reported',
  async (node) => {
    await node.writeManifest('kept.json', podRunning('kept', 'while :; do sleep 1; done'));
    const { ref } = await node.watch.waitForPod('kept', ({ status }) => status?.phase === 'Running');
    const path = `/checkpoint/${ref.namespace}/${ref.name}/main`;
    const said = await askNode(node.dir, path, { method: 'POST' }).catch((error: unknown) => String(error));
    if (!said.startsWith('{')) {
      expect(said).toMatch(
        new RegExp(`500 checkpointing of ${ref.namespace}/${ref.name}/main failed \\(rpc error: .+\\)`),
      );
      return;
    }
    const { items } = JSON.parse(said) as { items: string[] };
    expect(items).toEqual([expect.stringMatching(/\/checkpoints\/checkpoint-kept.*_default-main-.*\.tar$/)]);
    const [file = ''] = items;
    const content = await runCommand(['tar', '--list', '--file', file]);
    // The requester has to remove it, as with the reference.
    await rm(file);
    expect(content.split('\n')).toEqual(expect.arrayContaining(['config.dump', 'spec.dump']));
    // It continues.
    const { status } = await node.watch.waitForPod('kept', () => true);
    expect(status?.containerStatuses).toMatchObject([{ restartCount: 0, ready: true }]);
  },
);
