// The reference kubelet's checkpoint of devices. data/checkpoints.jsonl was written by its package (1.36) from random content,
// data/kubelet_internal_checkpoint by a kubelet that had given device b of a plugin with three to a pod.
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { deviceCheckpoint, parseDeviceCheckpoint } from '../src/index.ts';

const kept = readFileSync(new URL('data/checkpoints.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');

test('every checkpoint of the reference is read, and one that was changed is not', () => {
  expect(kept).toHaveLength(60);
  for (const text of kept) {
    const { Data } = JSON.parse(text) as { Data: { PodDeviceEntries: unknown[] | null; RegisteredDevices: object } };
    const found = parseDeviceCheckpoint(text);
    if ('problem' in found) throw new Error(`${found.problem}: ${text}`);
    expect(found.entries).toHaveLength(Data.PodDeviceEntries?.length ?? 0);
    expect(Object.keys(found.resources)).toEqual(Object.keys(Data.RegisteredDevices));
    // What is written again is what the reference would have read.
    expect(parseDeviceCheckpoint(deviceCheckpoint(found))).toEqual(found);
    const changed = text.replace('"RegisteredDevices":{', '"RegisteredDevices":{"example.com/more":[],');
    const cut = changed.replace(',}', '}');
    expect(parseDeviceCheckpoint(cut)).toEqual({ problem: 'checkpoint is corrupted' });
  }
});

test('what a kubelet has written says who has which device', () => {
  const text = readFileSync(new URL('data/kubelet_internal_checkpoint', import.meta.url), 'utf8');
  const found = parseDeviceCheckpoint(text);
  if ('problem' in found) throw new Error(found.problem);
  expect(found).toMatchObject({
    entries: [{ container: 'main', resource: 'example.com/device', devices: [{ id: 'b', numaNodes: [] }] }],
    resources: { 'example.com/device': ['c', 'a', 'b'] },
  });
  expect(deviceCheckpoint(found)).toBe(text);
});

test('the checksum of the same content is that of the reference', () => {
  const sums = (text: string) => (JSON.parse(text) as { Checksum: number }).Checksum;
  // The reference distinguishes lists that are empty from those that are missing; here there are empty ones only.
  const plain = kept.filter(
    (text) => !/"PodDeviceEntries":\[\]|:null[,}]/.test(text.replace('"PodDeviceEntries":null', '')),
  );
  expect(plain.length).toBeGreaterThan(20);
  for (const text of plain) {
    const found = parseDeviceCheckpoint(text);
    if ('problem' in found) throw new Error(found.problem);
    if (found.entries.every(({ devices }) => new Set(devices.map(({ id }) => id)).size === devices.length))
      expect([text, sums(deviceCheckpoint(found))]).toEqual([text, sums(text)]);
  }
});

test('what is written is what is read, devices of several NUMA nodes too', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 8 });
  const device = fc.record({
    id: name,
    numaNodes: fc.uniqueArray(fc.nat(20), { maxLength: 3 }).map((nodes) => nodes.toSorted((a, b) => a - b)),
  });
  const entry = fc.record({
    ...{ pod: name, container: name, resource: name },
    devices: fc.uniqueArray(device, { selector: ({ id }) => id, maxLength: 4 }),
    answer: fc.uint8Array({ maxLength: 9 }),
  });
  const resources = fc.dictionary(name, fc.array(name, { maxLength: 3 }), { maxKeys: 3 });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), resources, (entries, registered) => {
      const found = parseDeviceCheckpoint(deviceCheckpoint({ entries, resources: registered }));
      if ('problem' in found) throw new Error(found.problem);
      const sorted = (all: typeof entries) =>
        all.map((one) => ({
          ...one,
          answer: [...one.answer],
          devices: one.devices.toSorted((a, b) => Number(a.id > b.id) - Number(a.id < b.id)),
        }));
      expect(sorted([...found.entries] as typeof entries)).toEqual(sorted(entries));
      expect(found.resources).toEqual(registered);
    }),
  );
});

test.each(['', '{}', '[]', '{"Data":{"PodDeviceEntries":[{}],"RegisteredDevices":{}},"Checksum":1}'])(
  'what is not a checkpoint is refused: %s',
  (text) => {
    expect(parseDeviceCheckpoint(text)).toMatchObject({ problem: expect.stringMatching('it is not a checkpoint') });
  },
);
