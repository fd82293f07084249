import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type PodFailure, type PodWork, evictPod, nodePressure, podWork, podWorker } from '@kubus/contracts';
import { pod } from '@kubus/pod-lifecycle/testing';
import { ManualClock, MemoryRecords, settled } from '@kubus/ports/testing';
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

test('a restart under pressure refuses no pod that was admitted before', async () => {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const broker = new LocalBroker(NODE);
  const works = new Map<string, PodWork>();
  broker.join('pod-workers', clock).bus.reader(podWork, { changed: ({ key, value }) => void works.set(key, value) });
  const pressure = broker.join('node-agent', clock).bus.owner(nodePressure);
  pressure.put(NODE, { conditions: [] });
  const web = pod({ containers: [{ name: 'c' }] }, { uid: 'web', name: 'web' });
  const records = new MemoryRecords();
  const { loop } = await startLoop(broker, clock, [web], { records });
  expect(works.get('web')?.work).toBe('sync');
  loop.stop();
  pressure.put(NODE, { conditions: ['DiskPressure'] });
  const later = await startLoop(broker, clock, [web], { records, epoch: 2 });
  expect(works.get('web')?.work).toBe('sync');
  later.loop.stop();
});

test('an evicted pod is recorded before it ends, and does not come back with a new process', async () => {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const broker = new LocalBroker(NODE);
  const works = new Map<string, PodWork>();
  const order: string[] = [];
  const records = new (class extends MemoryRecords {
    override put(key: string, value: { readonly verdict: string }): Promise<void> {
      order.push(`recorded as ${value.verdict}`);
      return super.put(key, value);
    }
  })();
  const workers = broker.join('pod-workers', clock).bus;
  const reports = workers.owner(podWorker);
  workers.reader(podWork, {
    changed: ({ key, value }) => {
      works.set(key, value);
      order.push(`published as ${value.work}`);
    },
  });
  const web = pod({ containers: [{ name: 'c' }] }, { uid: 'web', name: 'web' });
  const ref = { namespace: web.metadata.namespace, name: 'web', uid: 'web' };
  const failure: PodFailure = {
    reason: 'Evicted',
    message: 'low',
    disrupts: true,
    annotations: { starved_resource: 'memory' },
  };
  const { loop } = await startLoop(broker, clock, [web], { records });
  reports.put('web', { ref, state: 'syncing', since: '2030-01-01T00:00:00.000Z' });
  const agent = broker.join('node-agent', clock).bus;
  const evict = async (uid: string) => {
    const answer = agent.call(evictPod, uid, { ref: { ...ref, uid }, failure, graceSeconds: 1 });
    await clock.advance(1_000);
    return (await answer).result.evicted;
  };
  expect(await evict('web')).toBe(true);
  expect(works.get('web')).toMatchObject({ work: 'evict', failure, graceSeconds: 1, reason: 'Evicted' });
  expect(order.slice(-2)).toEqual(['recorded as evicted', 'published as evict']);
  expect([await evict('web'), await evict('unknown')]).toEqual([true, false]);
  loop.stop();

  const later = await startLoop(broker, clock, [web], { records, epoch: 2 });
  expect(works.get('web')).toMatchObject({ work: 'evict', failure, graceSeconds: 1 });
  later.loop.stop();
});

test('a pod that has ended is not evicted', async () => {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const broker = new LocalBroker(NODE);
  const reports = broker.join('pod-workers', clock).bus.owner(podWorker);
  const web = pod({ containers: [{ name: 'c' }] }, { uid: 'web', name: 'web' });
  const ref = { namespace: web.metadata.namespace, name: 'web', uid: 'web' };
  const { loop } = await startLoop(broker, clock, [web]);
  reports.put('web', { ref, state: 'terminated', cleaned: true, since: '2030-01-01T00:00:00.000Z' });
  const failure = { reason: 'Evicted', message: 'low' };
  const { bus } = broker.join('node-agent', clock);
  const answer = bus.call(evictPod, 'web', { ref, failure, graceSeconds: 1 });
  await clock.advance(1_000);
  expect((await answer).result.evicted).toBe(false);
  loop.stop();
});
