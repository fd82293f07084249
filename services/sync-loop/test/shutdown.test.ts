import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type Pod, type PodWork, nodeShutdown, podRefOf, podWork, podWorker, shutdownProgress } from '@kubus/contracts';
import { pod as makePod } from '@kubus/pod-lifecycle/testing';
import { ManualClock, settled } from '@kubus/ports/testing';
import { NODE, startLoop } from './started-loop.ts';

const SINCE = '2030-01-01T00:00:00.000Z';

const podOf = (uid: string, priority: number): Pod =>
  makePod({ containers: [{ name: 'c' }], priority, terminationGracePeriodSeconds: 30 }, { uid, name: uid });

test('pods end group by group, and the machine is let go when the last have had their time', async () => {
  const clock = new ManualClock(Date.parse(SINCE));
  const broker = new LocalBroker(NODE);
  const works = new Map<string, PodWork>();
  const done: boolean[] = [];
  const watching = broker.join('pod-workers', clock).bus;
  watching.reader(podWork, { changed: ({ key, value }) => void works.set(key, value) });
  const workers = watching.owner(podWorker);
  const agent = broker.join('node-agent', clock).bus;
  agent.reader(shutdownProgress, {
    changed: ({ value }) => void done.push(value.done),
    removed: () => void done.push(false),
  });
  const shutdown = agent.owner(nodeShutdown);
  const shutdownGroups = [
    { priority: 0, seconds: 20 },
    { priority: 2_000_000_000, seconds: 10 },
  ];
  const pods = [podOf('plain', 0), podOf('critical', 2_000_000_000)];
  const { loop } = await startLoop(broker, clock, pods, { shutdown: shutdownGroups });
  const kinds = () => ['plain', 'critical'].map((uid) => works.get(uid)?.work);
  // The node agent has not published yet whether the machine is shutting down.
  expect([works.size, loop.ready]).toEqual([0, false]);

  shutdown.put(NODE, { active: false, since: SINCE });
  await settled();
  expect([kinds(), loop.ready]).toEqual([['sync', 'sync'], true]);
  for (const pod of [podOf('plain', 0), podOf('critical', 0)]) {
    workers.put(pod.metadata.uid, { ref: podRefOf(pod), state: 'syncing', since: SINCE });
  }

  shutdown.put(NODE, { active: true, since: SINCE });
  await settled();
  expect(kinds()).toEqual(['evict', 'sync']);
  expect(works.get('plain')).toMatchObject({ graceSeconds: 20, failure: { reason: 'Terminated' } });

  workers.put('plain', { ref: podRefOf(podOf('plain', 0)), state: 'terminated', since: SINCE, cleaned: true });
  await settled();
  expect(kinds()).toEqual(['evict', 'evict']);
  expect(works.get('critical')).toMatchObject({ graceSeconds: 10 });
  expect(done.filter(Boolean)).toEqual([]);

  await clock.advance(10_000);
  await settled();
  expect(done.at(-1)).toBe(true);

  shutdown.put(NODE, { active: false, since: '2030-01-01T00:01:00.000Z' });
  await settled();
  expect(done.at(-1)).toBe(false);
  loop.stop();
});
