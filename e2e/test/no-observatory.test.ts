import { expect } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RecordingReader } from '@kubus/recording';
import { sharedNode } from '../src/node-tests.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('no-observatory');

onNode('without an observatory what the broker still has goes out as a file', async (node) => {
  await node.writeManifest('a.json', pod('kept'));
  const { ref } = await node.watch.waitForPod('kept');
  const file = join(node.folder, 'kept.kubus');
  expect(await node.kubus('record', 'export', file)).toMatchObject({ code: 0, stdout: `written to ${file}\n` });
  const reader = new RecordingReader(file);
  expect(reader.pods()).toContainEqual(expect.objectContaining({ uid: ref.uid, name: ref.name, ready: true }));
  expect(reader.completeness()).toEqual({ droppedByBroker: 0, neverStored: 0, unreadable: 0 });
  reader.close();
  for (const args of [['record', 'list'], ['record', 'start', 'x'], ['observatory']]) {
    const start = expect.stringContaining('./kubus up --observatory');
    expect(await node.kubus(...args)).toMatchObject({ code: 1, stderr: start });
  }
  expect(existsSync(node.dir.socket('observatory'))).toBe(false);
  expect((await node.process('observatory-0'))?.pid).toBeUndefined();
});
