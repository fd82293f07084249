import { expect } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RecordingReader } from '@kubus/recording';
import { onNode } from './node.ts';
import { pod } from '../../src/pods.ts';

onNode('without an observatory the messages that the broker still has are exported as a file', async (node) => {
  await node.writeManifest('a.json', pod('kept'));
  const { ref } = await node.watch.waitForPod('kept');
  const file = join(node.folder, 'kept.kubus');
  expect(await node.kubus('record', 'export', file)).toMatchObject({ code: 0, stdout: `exported to ${file}\n` });
  const reader = new RecordingReader(file);
  expect(reader.pods()).toContainEqual(expect.objectContaining({ uid: ref.uid, name: ref.name, ready: true }));
  expect(reader.completeness()).toEqual({ droppedByBroker: 0, neverStored: 0, unreadable: 0 });
  reader.close();
  for (const args of [['record', 'list'], ['record', 'start', 'x'], ['observatory']]) {
    const start = expect.stringContaining('up --restart --observatory');
    expect(await node.kubus(...args)).toMatchObject({ code: 1, stderr: start });
  }
  expect(existsSync(node.dir.socket('observatory'))).toBe(false);
  expect((await node.process('observatory-0'))?.pid).toBeUndefined();
});
