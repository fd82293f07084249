import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type NodeTopology, deviceAllocation, deviceResource, nodeTopology } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { RecordingReader, RecordingWriter } from '@kubus/recording';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordedTopology } from './topology-facts.ts';

const BEGAN = Date.UTC(2030, 0, 1);
const ref = { uid: 'u1', namespace: 'default', name: 'web' };
let folder = '';
let reader: RecordingReader;

function topology(shared: string): NodeTopology {
  return {
    machine: { sockets: [], nodes: [], cores: [], caches: [], offline: '', isolated: '' },
    policies: { cpu: 'static', memory: 'None', topology: 'none', scope: 'container' },
    ...{ reserved: '0', shared, memory: [], containers: [] },
  };
}

/** A device and CPUs are given to a pod after 2 s, and freed after 4 s. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubus-topology-'));
  const broker = new LocalBroker('node0');
  const clock = new ManualClock(BEGAN);
  const { bus } = broker.join('node-agent', clock);
  const [machine, resources, allocations] = [
    bus.owner(nodeTopology),
    bus.owner(deviceResource),
    bus.owner(deviceAllocation),
  ];
  await clock.advance(1000);
  machine.put('node0', topology('0-3'));
  resources.put('example.com/gpu', { resource: 'example.com/gpu', devices: [{ id: 'a', healthy: true }], gone: false });
  for (const fact of [machine, resources, allocations]) fact.complete();
  await clock.advance(1000);
  machine.put('node0', topology('0-1'));
  const given = [{ name: 'main', resources: [{ resource: 'example.com/gpu', devices: [{ id: 'a' }] }] }];
  allocations.put('u1', { ref, containers: given }, { pod: 'u1' });
  await clock.advance(2000);
  machine.put('node0', topology('0-3'));
  allocations.remove('u1', { pod: 'u1' });
  const path = join(folder, 'one.kubus');
  const meta = { name: 'one', node: 'node0', version: '1', state: 'recording', began: BEGAN } as const;
  const writer = RecordingWriter.create(path, meta, { contract: '{}' });
  writer.append(broker.said.map((message, index) => ({ seq: index + 1, stored: clock.now(), message })));
  writer.finish(clock.now());
  reader = new RecordingReader(path);
});
afterAll(async () => {
  reader.close();
  await rm(folder, { recursive: true });
});

test.each([
  [1000, '0-3', []],
  [3999, '0-1', ['u1']],
  [4000, '0-3', []],
  [undefined, '0-3', []],
])('after %s ms of a recording', (ms, shared, uids) => {
  const facts = recordedTopology(reader, ms === undefined ? undefined : BEGAN + ms);
  expect(facts.shared).toBe(shared);
  expect(facts.devices.map(({ resource }) => resource)).toEqual(['example.com/gpu']);
  expect(facts.devices.flatMap(({ owners }) => owners.map(({ uid }) => uid))).toEqual(uids);
});

test('before the node had said anything there is nothing to show', () => {
  const why = 'recording one does not say up to 2030-01-01T00:00:00.999Z what the machine is like';
  expect(() => recordedTopology(reader, BEGAN + 999)).toThrow(why);
});
