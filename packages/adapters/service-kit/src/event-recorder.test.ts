import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { nodeEventSchema, podEvent, podEventSchema, workerNodeEvent } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { EventRecorder } from './event-recorder.ts';

/** A recorder, and the events that it has published. */
function make(rate?: { qps: number; burst: number }) {
  const clock = new ManualClock();
  const broker = new LocalBroker('node0');
  const { bus } = broker.join('pod-workers', clock, 3);
  const recorder = new EventRecorder({ bus, clock, rate });
  const pods = recorder.ofPods(podEvent);
  const node = recorder.ofNode(workerNodeEvent);
  const record = (uid: string) =>
    pods.record(
      {
        ref: { namespace: 'x', name: `pod-${uid}`, uid },
        type: 'Normal',
        reason: 'Started',
        message: 'Container started',
      },
      [],
    );
  const published = () =>
    broker.said.flatMap(({ subject, data }) =>
      subject.includes('.event.recorded.') ? [podEventSchema.parse(JSON.parse(data))] : [],
    );
  const recordNode = () => node.record({ type: 'Warning', reason: 'ContainerGCFailed', message: 'no' }, []);
  const publishedForNode = () =>
    broker.said.flatMap(({ subject, data }) =>
      subject === 'kubus.node0.worker.event.nodeRecorded.node0' ? [nodeEventSchema.parse(JSON.parse(data))] : [],
    );
  const { forget } = pods;
  return { clock, record, forget, published, recordNode, publishedForNode };
}

test('an event is published at once, and is the cause of what follows', () => {
  const { record, published } = make();
  expect(record('a')).toMatchObject({ id: 'pod-workers-0.3.1' });
  expect(published()).toEqual([
    {
      ref: { namespace: 'x', name: 'pod-a', uid: 'a' },
      type: 'Normal',
      reason: 'Started',
      message: 'Container started',
      count: 1,
      firstTimestamp: '2030-01-01T00:00:00.000Z',
      lastTimestamp: '2030-01-01T00:00:00.000Z',
      series: 'pod-workers-0.3.1',
    },
  ]);
});

test('events beyond a burst are published later, in order, each with the time when it happened', async () => {
  const { clock, record, published } = make({ qps: 10, burst: 2 });
  const causes = ['a', 'b', 'c', 'd'].map(record);
  expect(causes.map((cause) => cause !== undefined)).toEqual([true, true, false, false]);
  expect(published().map(({ ref }) => ref.uid)).toEqual(['a', 'b']);
  await clock.advance(100);
  expect(published().map(({ ref }) => ref.uid)).toEqual(['a', 'b', 'c']);
  await clock.advance(100);
  expect(published().at(-1)).toMatchObject({ ref: { uid: 'd' }, lastTimestamp: '2030-01-01T00:00:00.000Z' });
});

test('up to a thousand events wait; further ones are dropped', async () => {
  const { clock, record, published } = make({ qps: 1_000, burst: 1 });
  for (let at = 0; at <= 1_100; at += 1) record(String(at));
  await clock.advance(10_000);
  expect(published()).toHaveLength(1_001);
});

test('without a limit nothing waits', () => {
  const { record, published } = make({ qps: 0, burst: 0 });
  for (let at = 0; at < 200; at += 1) record(String(at));
  expect(published()).toHaveLength(200);
});

test('node events are published like pod events, each once', () => {
  const { record, recordNode, published, publishedForNode } = make();
  record('a');
  recordNode();
  recordNode();
  const both = { node: 'node0', type: 'Warning', reason: 'ContainerGCFailed', message: 'no' };
  expect(publishedForNode()).toMatchObject([
    { ...both, count: 1, series: 'pod-workers-0.3.2' },
    { ...both, count: 2, series: 'pod-workers-0.3.2' },
  ]);
  expect(published()).toHaveLength(1);
});

test('pods and the node share one burst', () => {
  const { record, recordNode, publishedForNode } = make({ qps: 10, burst: 2 });
  for (const uid of ['a', 'b']) record(uid);
  expect(recordNode()).toBeUndefined();
  expect(publishedForNode()).toEqual([]);
});

test('by default a burst of 100 is published, then 50 per second', async () => {
  const { clock, record, published } = make();
  for (let at = 0; at < 200; at += 1) record(String(at));
  expect(published()).toHaveLength(100);
  await clock.advance(1_000);
  expect(published()).toHaveLength(150);
});

test('a pod that does not exist any more leaves nothing: the next event of its UID is the first of a series', () => {
  const { record, forget, published } = make();
  record('a');
  record('a');
  forget('a');
  record('a');
  expect(published().map(({ count }) => count)).toEqual([1, 2, 1]);
});
