import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type PodWork, nodePressure, podWork } from '@kubus/contracts';
import { pod } from '@kubus/pod-lifecycle/testing';
import { ManualClock, settled } from '@kubus/ports/testing';
import { NODE, startLoop } from './started-loop.ts';

test('a pod that comes to a node under pressure is not admitted, and one that is there stays', async () => {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const broker = new LocalBroker(NODE);
  const works = new Map<string, PodWork>();
  broker.join('pod-workers', clock).bus.reader(podWork, {
    changed: ({ key, value }) => void works.set(key, value),
  });
  const pressure = broker.join('node-agent', clock).bus.owner(nodePressure);
  pressure.put(NODE, { conditions: [] });
  const podOf = (uid: string) => pod({ containers: [{ name: 'c' }] }, { uid, name: uid });
  const { loop, add } = await startLoop(broker, clock, [podOf('first')]);
  pressure.put(NODE, { conditions: ['MemoryPressure'] });
  await settled();
  add(podOf('second'));
  await settled();
  expect(works.get('first')?.work).toBe('sync');
  expect(works.get('second')).toMatchObject({
    work: 'reject',
    failure: { reason: 'Evicted', message: 'The node had condition: [MemoryPressure]. ' },
  });
  pressure.put(NODE, { conditions: [] });
  await settled();
  add(podOf('third'));
  await settled();
  expect([works.get('second')?.work, works.get('third')?.work]).toEqual(['reject', 'sync']);
  loop.stop();
});
