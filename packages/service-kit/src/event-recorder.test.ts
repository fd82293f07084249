import { expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { nodeEventSchema, podEvent, podEventSchema, workerNodeEvent } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { EventRecorder } from './event-recorder.ts';

/** A recorder, and what it has told so far. */
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
  const told = () =>
    broker.said.flatMap(({ subject, data }) =>
      subject.includes('.event.recorded.') ? [podEventSchema.parse(JSON.parse(data))] : [],
    );
  const recordNode = () => node.record({ type: 'Warning', reason: 'ContainerGCFailed', message: 'no' }, []);
  const toldOfNode = () =>
    broker.said.flatMap(({ subject, data }) =>
      subject === 'kubus.node0.worker.event.nodeRecorded.node0' ? [nodeEventSchema.parse(JSON.parse(data))] : [],
    );
  return { clock, record, told, recordNode, toldOfNode };
}

test('what happens is told at once, and is the cause of what follows', () => {
  const { record, told } = make();
  expect(record('a')).toMatchObject({ id: 'pod-workers-0.3.1' });
  expect(told()).toEqual([
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

test('more than a burst is told later, in order, each with the time when it happened', async () => {
  const { clock, record, told } = make({ qps: 10, burst: 2 });
  const causes = ['a', 'b', 'c', 'd'].map(record);
  expect(causes.map((cause) => cause !== undefined)).toEqual([true, true, false, false]);
  expect(told().map(({ ref }) => ref.uid)).toEqual(['a', 'b']);
  await clock.advance(100);
  expect(told().map(({ ref }) => ref.uid)).toEqual(['a', 'b', 'c']);
  await clock.advance(100);
  expect(told().at(-1)).toMatchObject({ ref: { uid: 'd' }, lastTimestamp: '2030-01-01T00:00:00.000Z' });
});

test('a thousand may wait; what comes then is not told', async () => {
  const { clock, record, told } = make({ qps: 1_000, burst: 1 });
  for (let at = 0; at <= 1_100; at += 1) record(String(at));
  await clock.advance(10_000);
  expect(told()).toHaveLength(1_001);
});

test('without a limit nothing waits', () => {
  const { record, told } = make({ qps: 0, burst: 0 });
  for (let at = 0; at < 200; at += 1) record(String(at));
  expect(told()).toHaveLength(200);
});

test('the node’s operators are told as pods’ users are, each event once', () => {
  const { record, recordNode, told, toldOfNode } = make();
  record('a');
  recordNode();
  recordNode();
  const both = { node: 'node0', type: 'Warning', reason: 'ContainerGCFailed', message: 'no' };
  expect(toldOfNode()).toMatchObject([
    { ...both, count: 1, series: 'pod-workers-0.3.2' },
    { ...both, count: 2, series: 'pod-workers-0.3.2' },
  ]);
  expect(told()).toHaveLength(1);
});

test('pods and node share what may be told at once', () => {
  const { record, recordNode, toldOfNode } = make({ qps: 10, burst: 2 });
  for (const uid of ['a', 'b']) record(uid);
  expect(recordNode()).toBeUndefined();
  expect(toldOfNode()).toEqual([]);
});

test('without configuration a burst of 100 is told, then 50 in a second', async () => {
  const { clock, record, told } = make();
  for (let at = 0; at < 200; at += 1) record(String(at));
  expect(told()).toHaveLength(100);
  await clock.advance(1_000);
  expect(told()).toHaveLength(150);
});
