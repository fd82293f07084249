import { describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import { type NodeEvent, type PodEvent, podEvent, workerNodeEvent } from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { type RecordedEvent, newestEvents } from '@kubus/causality';
import { eventDocument } from '../pods/event-document.ts';
import { eventTable, wantedEvents } from './events.ts';

const NOW = Date.UTC(2030, 0, 1, 0, 10);

function event(change: Partial<PodEvent> = {}): PodEvent {
  return {
    ref: { namespace: 'default', name: 'web-node0', uid: 'a' },
    type: 'Normal',
    reason: 'Started',
    message: 'Container started',
    fieldPath: 'spec.containers{web}',
    count: 1,
    firstTimestamp: '2030-01-01T00:05:00.000Z',
    lastTimestamp: '2030-01-01T00:05:00.000Z',
    series: 'pod-workers-0.3.1',
    ...change,
  };
}

const nodeEvent: NodeEvent = {
  node: 'node0',
  type: 'Warning',
  reason: 'ImageGCFailed',
  message: 'no',
  count: 1,
  firstTimestamp: '2030-01-01T00:09:00.000Z',
  lastTimestamp: '2030-01-01T00:09:00.000Z',
  series: 'cri-bridge-0.3.1',
};

/** The record after these events have been published in this order. */
function recorded(...events: readonly (PodEvent | NodeEvent)[]) {
  const broker = new LocalBroker('node0');
  const { bus } = broker.join('pod-workers', new ManualClock());
  for (const one of events) {
    if ('ref' in one) bus.emit(podEvent, one.ref.uid, one);
    else bus.emit(workerNodeEvent, one.node, one);
  }
  return broker.said.map((message) => ({ message }));
}

const backOff = { type: 'Warning', reason: 'BackOff', message: 'Back-off', series: 'pod-workers-0.3.2' } as const;

test('each event series is listed once, newest last, with its age and count', () => {
  const events = newestEvents(
    recorded(
      event({ ...backOff, count: 2, lastTimestamp: '2030-01-01T00:06:00.000Z' }),
      event(),
      event({ ...backOff, count: 3, lastTimestamp: '2030-01-01T00:09:55.000Z' }),
    ),
  );
  expect(eventTable(events, { all: true, now: NOW })).toEqual({
    header: ['NAMESPACE', 'LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
    rows: [
      ['default', '5m', 'Normal', 'Started', 'Pod/web-node0', 'Container started'],
      ['default', '5s (x3 over 5m)', 'Warning', 'BackOff', 'Pod/web-node0', 'Back-off'],
    ],
  });
});

/** An event as it is read from the record. */
function stored(one: PodEvent | NodeEvent): RecordedEvent {
  const [found] = newestEvents(recorded(one));
  if (found === undefined) throw new Error('not part of the record');
  return found;
}

test('events of the node are listed with those of pods, in the default namespace', () => {
  const { rows } = eventTable(newestEvents(recorded(event(), nodeEvent)), { all: true, now: NOW });
  expect(rows[1]).toEqual(['default', '60s', 'Warning', 'ImageGCFailed', 'Node/node0', 'no']);
  expect(eventDocument(stored(nodeEvent), 'node0')).toMatchObject({
    metadata: { name: 'node0.cri-bridge-0.3.1', namespace: 'default' },
    involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'node0', uid: 'node0' },
  });
});

test('an event is printed as an API object with -o json', () => {
  expect(eventDocument(stored(event()), 'node0')).toEqual({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web-node0.pod-workers-0.3.1', namespace: 'default' },
    involvedObject: {
      ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web-node0', uid: 'a' },
      fieldPath: 'spec.containers{web}',
    },
    ...{ type: 'Normal', reason: 'Started', message: 'Container started', count: 1 },
    ...{ firstTimestamp: '2030-01-01T00:05:00.000Z', lastTimestamp: '2030-01-01T00:05:00.000Z' },
    source: { component: 'kubelet', host: 'node0' },
    reportingComponent: 'kubelet',
    reportingInstance: 'node0',
  });
});

describe('options', () => {
  const all = { namespace: 'default' };
  test.each([
    ['its namespace', all, true],
    ['another namespace', { namespace: 'other' }, false],
    ['all namespaces', { namespace: 'other', allNamespaces: true }, true],
    ['its type', { ...all, types: 'Warning,Normal' }, true],
    ['another type', { ...all, types: 'Warning' }, false],
    ['its name', { ...all, for: 'pod/web-node0' }, true],
    ['its name in the manifest', { ...all, for: 'po/web' }, true],
    ['its UID', { ...all, for: 'pods/a' }, true],
    ['another pod', { ...all, for: 'pod/we' }, false],
    ['a node', { ...all, for: 'node/web-node0' }, false],
  ])('select events by %s', (_, options, chosen) => {
    expect(wantedEvents(options, 'node0')(stored(event()))).toBe(chosen);
  });

  test.each([
    ['its namespace', all, true],
    ['another namespace', { namespace: 'other' }, false],
    ['its name', { ...all, for: 'node/node0' }, true],
    ['its name, in short', { ...all, for: 'no/node0' }, true],
    ['another node', { ...all, for: 'nodes/node1' }, false],
    ['a pod of its name', { ...all, for: 'pod/node0' }, false],
  ])('select events of the node by %s', (_, options, chosen) => {
    expect(wantedEvents(options, 'node0')(stored(nodeEvent))).toBe(chosen);
  });

  test.each([
    [{ ...all, for: 'job/a' }, '--for must be pod/NAME or node/NAME, not "job/a"'],
    [{ ...all, types: 'normal' }, 'valid --types are Normal or Warning, not "normal"'],
  ])('%j is refused', (options, message) => {
    expect(() => wantedEvents(options, 'node0')).toThrow(message);
  });
});
