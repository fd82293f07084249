import { describe, expect, test } from '@jest/globals';
import { LocalBroker } from '@kubus/bus/testing';
import {
  type ContainerStatus,
  type EvictionDecision,
  type Pod,
  type PodStatus,
  type PodWork,
  evictPod,
  podWork,
} from '@kubus/contracts';
import { ManualClock } from '@kubus/ports/testing';
import { type RecordedEvent, type WhyInput, decisionIn, evidenceOf, explain, recordedPod } from '../src/index.ts';

const NOW = Date.UTC(2030, 0, 1, 0, 10);
const AT = '2030-01-01T00:09:48Z';
const ref = { namespace: 'default', name: 'web', uid: 'u1' };
const worker = { ref, state: 'syncing', since: '2030-01-01T00:09:55Z' } as const;

function input(given: {
  work?: Partial<PodWork>;
  spec?: Partial<Pod['spec']>;
  meta?: Partial<Pod['metadata']>;
  status?: PodStatus;
  rest?: Partial<WhyInput>;
}): WhyInput {
  const { work, spec, meta, status, rest } = given;
  const pod = { metadata: { ...ref, ...meta }, spec: { containers: [{ name: 'main' }], ...spec } };
  const present = { ref, pod, source: 'file', work: 'sync', reason: 'desired', worker: 'pod-workers-0' } as const;
  return {
    work: { ...present, firstSeen: AT, ...work },
    ...{ isGone: false, status, worker, volumes: undefined, events: [], nodeProblems: [], now: NOW },
    ...rest,
  };
}

const sandbox = { type: 'PodReadyToStartContainers', status: 'True' };
type State = ContainerStatus['state'];

function container(state: State, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: 'main', ready: false, restartCount: 0, image: 'x', imageID: '', ...(state && { state }), ...more };
}

function up(...containerStatuses: ContainerStatus[]): PodStatus {
  return { phase: 'Running', conditions: [sandbox], containerStatuses };
}

function event(reason: string, message: string, more: Partial<RecordedEvent> = {}): RecordedEvent {
  const times = { firstTimestamp: AT, lastTimestamp: AT };
  const object = { kind: 'Pod', ...ref, fieldPath: 'spec.containers{main}' } as const;
  return { object, type: 'Warning', reason, message, count: 1, series: 's', from: 'pod-workers-0', ...times, ...more };
}

const ended = (exitCode: number, more: object = {}) => ({ terminated: { exitCode, finishedAt: AT, ...more } });
const running = { running: { startedAt: AT } };
const volumes = { ref, ready: false, volumes: {} };

const MI = 1024 * 1024;
const low = { reason: 'Evicted', message: 'The node was low on resource: memory. ' };
const ranked = { ref, critical: false, exceeds: true, priority: 0, used: 300 * MI, requested: 0 };
const met = { signal: 'memory.available', threshold: '100Mi', amount: 100 * MI, graceSeconds: 0 };
const modest = { ...ranked, ref: { ...ref, name: 'modest', uid: 'u2' }, exceeds: false, used: 90 * MI };
const decision: EvictionDecision = {
  ...{ ...met, available: 90 * MI, capacity: 1000 * MI, readAt: AT, reclaimed: [] },
  ranking: {
    signal: 'memory.available',
    pods: [{ ...ranked, ref: { ...ref, uid: 'u0' }, critical: true }, ranked, { ...modest, requested: 100 * MI }],
    leftOut: 0,
  },
};
const ofDisk: EvictionDecision = {
  ...{ ...decision, signal: 'nodefs.inodesFree', threshold: '10%', available: 3 },
  reclaimed: [
    { what: 'containers', before: 3, after: 45 },
    { what: 'images', before: 45, after: 44 },
  ],
  ranking: { signal: 'nodefs.inodesFree', pods: [{ ...ranked, exceeds: false, priority: 2, used: 7 }], leftOut: 0 },
};

const cases: readonly (readonly [string, WhyInput, string, string])[] = [
  [
    'not admitted',
    input({
      work: { work: 'reject', failure: { reason: 'OutOfcpu', message: 'Node didn’t have enough resource: cpu' } },
    }),
    'failed',
    'web has failed: it was not admitted by the node: OutOfcpu: Node didn’t have enough resource: cpu.',
  ],
  [
    'evicted',
    input({
      work: { work: 'evict', failure: { reason: 'Evicted', message: 'Usage of EmptyDir volume "a" exceeds 1Mi.' } },
    }),
    'failed',
    'web has failed: it was evicted: Evicted: Usage of EmptyDir volume "a" exceeds 1Mi.',
  ],
  [
    'evicted, of several',
    input({ work: { work: 'evict', failure: low }, rest: { decision } }),
    'failed',
    'web has failed: it was evicted: Evicted: The node was low on resource: memory. memory.available was 90.0 MiB at 00:09:48, its threshold is 100Mi. It was the first of 2 pods that could go: it uses 300.0 MiB with 0 B requested at priority 0; next was default/modest, which uses 90.0 MiB with 100.0 MiB requested at priority 0.',
  ],
  [
    'evicted, after something else was removed',
    input({ work: { work: 'evict', failure: low }, rest: { decision: ofDisk } }),
    'failed',
    'web has failed: it was evicted: Evicted: The node was low on resource: memory. nodefs.inodesFree was 3 at 00:09:48, its threshold is 10%. Before, ended containers (42) and unused images (which freed nothing) were removed, which was not enough. It was the only pod that could go: it uses 7 at priority 2.',
  ],
  [
    'evicted, and its containers exited with 0',
    input({ work: { work: 'evict', failure: low }, status: { phase: 'Succeeded' } }),
    'ended',
    'web has ended well, every container exited with 0, but it was evicted: Evicted: The node was low on resource: memory.',
  ],
  [
    'being removed',
    input({
      work: { work: 'kill', reason: 'removed from its source', graceSeconds: 5 },
      status: up(container(running)),
      rest: { worker: { ...worker, state: 'terminating' } },
    }),
    'ending',
    'web is being removed since 5s (removed from its source): it waits for main to end, at most its grace period of 5 s.',
  ],
  [
    'deleted, with an error',
    input({
      meta: { deletionTimestamp: AT },
      status: up(container(ended(0))),
      rest: { worker: { ...worker, error: 'busy' } },
    }),
    'ending',
    'web is being removed since 5s (its deletion was requested): its containers have ended, and what is left of it is being removed. The last attempt failed: busy.',
  ],
  [
    'gone',
    input({ work: { work: 'kill', reason: 'removed from its source' }, rest: { isGone: true } }),
    'ended',
    'web is gone from this node: removed from its source.',
  ],
  [
    'gone after it failed',
    input({
      work: { work: 'kill', reason: 'removed from its source' },
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Failed', containerStatuses: [container(ended(3))] },
      rest: { isGone: true },
    }),
    'ended',
    'web is gone from this node: removed from its source. Before: web has failed: container main exited with code 3 12s ago, and its restartPolicy is Never.',
  ],
  [
    'succeeded',
    input({ status: { phase: 'Succeeded', containerStatuses: [container(ended(0))] } }),
    'ended',
    'web has ended well: every container exited with 0, the last 12s ago.',
  ],
  [
    'failed with a message',
    input({
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Failed', containerStatuses: [container(ended(1, { reason: 'Error', message: 'no disk\n' }))] },
    }),
    'failed',
    'web has failed: container main exited with code 1 12s ago and left "no disk", and its restartPolicy is Never.',
  ],
  [
    'out of memory',
    input({
      spec: { restartPolicy: 'Never' },
      status: { phase: 'Failed', containerStatuses: [container(ended(137, { reason: 'OOMKilled', signal: 9 }))] },
    }),
    'failed',
    'web has failed: container main was ended by signal 9 (OOMKilled) 12s ago, and its restartPolicy is Never.',
  ],
  [
    'failed for a reason of its own',
    input({ status: { phase: 'Failed', reason: 'DeadlineExceeded', message: 'Pod was active too long' } }),
    'failed',
    'web has failed: DeadlineExceeded: Pod was active too long.',
  ],
  [
    'without a runtime',
    input({ rest: { nodeProblems: ['container runtime is down'] } }),
    'waiting',
    'web waits until the node can run pods: container runtime is down.',
  ],
  [
    'without a worker',
    input({ rest: { worker: undefined } }),
    'waiting',
    'web waits for its worker pod-workers-0, which has not begun with it.',
  ],
  [
    'without its volumes',
    input({ rest: { volumes: { ...volumes, errors: ['configmap "a" not found'], awaits: ['the plan of volume b'] } } }),
    'waiting',
    'web waits for its volumes: configmap "a" not found. It waits for the plan of volume b.',
  ],
  [
    'without a sandbox',
    input({ rest: { events: [event('FailedCreatePodSandBox', 'no address is free')] } }),
    'waiting',
    'web waits for its sandbox, which could not be made: no address is free. It is tried again.',
  ],
  [
    'with a failed sync',
    input({ rest: { worker: { ...worker, error: 'cannot make the cgroup' } } }),
    'waiting',
    'web waits: its last sync failed and is tried again: cannot make the cgroup.',
  ],
  [
    'with a running init container',
    input({
      spec: { initContainers: [{ name: 'one' }, { name: 'two' }] },
      status: {
        conditions: [sandbox],
        initContainerStatuses: [container(ended(0), { name: 'one' }), container(running, { name: 'two' })],
      },
    }),
    'waiting',
    'web waits for its init container two (2 of 2): it was started 12s ago, and the pod waits for it to exit with 0.',
  ],
  [
    'with an init container that fails',
    input({
      spec: { initContainers: [{ name: 'one' }] },
      status: {
        conditions: [sandbox],
        initContainerStatuses: [
          container(
            { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
            {
              ...{ name: 'one', restartCount: 1 },
              lastState: ended(2),
            },
          ),
        ],
      },
    }),
    'waiting',
    'web waits to start its init container one (1 of 1) again (CrashLoopBackOff): it exited with code 2 12s ago and was restarted once before: back-off 10s.',
  ],
  [
    'with a sidecar that has not started',
    input({
      spec: { initContainers: [{ name: 'one', restartPolicy: 'Always' }] },
      status: { conditions: [sandbox], initContainerStatuses: [container(running, { name: 'one', started: false })] },
    }),
    'waiting',
    'web waits for its sidecar one (1 of 1): it was started 12s ago, and the pod waits for its startup probe to succeed.',
  ],
  [
    'without its image',
    input({
      status: up(container({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x"' } })),
    }),
    'waiting',
    'web cannot start its container main: ImagePullBackOff: Back-off pulling image "x".',
  ],
  [
    'with a container that cannot be made',
    input({
      status: up(container({ waiting: { reason: 'ContainerCreating' } })),
      rest: { events: [event('Failed', 'no such device'), event('BackOff', 'again')] },
    }),
    'waiting',
    'web waits until its container main can be made; last: Failed: no such device.',
  ],
  [
    'with a container that is being made',
    input({ status: up(container({ waiting: { reason: 'ContainerCreating' } })) }),
    'waiting',
    'web waits until its container main is made and started.',
  ],
  [
    'with a container that cannot be made for a reason of the worker',
    input({
      status: up(container({ waiting: { reason: 'ContainerCreating' } })),
      rest: { worker: { ...worker, error: 'line one\n line two' } },
    }),
    'waiting',
    'web waits until its container main can be made; the last sync failed and is tried again: line one line two.',
  ],
  [
    'with a long message',
    input({
      status: up(container({ waiting: { reason: 'ErrImagePull', message: `${'a'.repeat(200)}${'b'.repeat(200)}` } })),
    }),
    'waiting',
    `web cannot start its container main: ErrImagePull: ${'a'.repeat(110)} ... ${'b'.repeat(140)}.`,
  ],
  [
    'of a recording, without ages',
    input({ status: up(container(ended(1))), rest: { now: undefined } }),
    'waiting',
    'web waits for its container main, which exited with code 1, to be started again.',
  ],
  [
    'with a container that has just ended',
    input({ status: up(container(ended(1))) }),
    'waiting',
    'web waits for its container main, which exited with code 1 12s ago, to be started again.',
  ],
  [
    'with a readiness probe that fails',
    input({
      status: up(container(running, { started: true })),
      rest: { events: [event('Unhealthy', 'Readiness probe failed: 503', { count: 4 }), event('BackOff', 'other')] },
    }),
    'unready',
    'web runs, but is not ready: the readiness probe of container main failed 12s ago, 4 times so far: Readiness probe failed: 503.',
  ],
  [
    'with a startup probe that has no result',
    input({ status: up(container(running, { started: false })) }),
    'unready',
    'web runs, but is not ready: the startup probe of container main, started 12s ago, has not succeeded yet.',
  ],
  [
    'with a container that has ended well',
    input({ status: up(container(ended(0))) }),
    'unready',
    'web is not ready: its container main exited with code 0 12s ago and is not started again.',
  ],
  [
    'with a readiness gate',
    input({
      spec: { readinessGates: [{ conditionType: 'example.com/ready' }] },
      status: up(container(running, { ready: true, started: true })),
    }),
    'unready',
    'web runs, but is not ready: its readiness gate example.com/ready is not True.',
  ],
  [
    'ready',
    input({
      status: {
        ...up(container(running, { ready: true, started: true, restartCount: 2, lastState: ended(1) })),
        conditions: [sandbox, { type: 'Ready', status: 'True', lastTransitionTime: AT }],
      },
    }),
    'ready',
    'web runs and is ready since 12s. Its container main was restarted 2 times; before the last restart it exited with code 1 12s ago.',
  ],
];

describe('a pod', () => {
  test.each(cases)('%s is explained', (_, given, state, text) => {
    expect(explain(given)).toMatchObject({ state, text });
  });

  test('that no source wants is explained', () => {
    const work = { source: 'runtime', reason: 'sources are not complete' } as const;
    expect(explain(input({ work })).text).toBe(
      'web is known to the container runtime alone: no source of this node wants it (sources are not complete).',
    );
  });
});

test('the message that says so is the newest one with the text, else the newest of its type', () => {
  const broker = new LocalBroker('node0');
  const { bus } = broker.join('sync-loop', new ManualClock());
  const facts = bus.owner(podWork);
  const { work } = input({ work: { work: 'kill', reason: 'a "quoted" reason' } });
  facts.put(ref.uid, work);
  facts.put(ref.uid, { ...work, reason: 'another' });
  const messages = broker.said.map((message, index) => ({ seq: index + 1, stored: index, message }));
  const type = 'sync.fact.pod';
  const first = evidenceOf(messages, { type, text: 'a "quoted" reason' });
  expect(first).toMatchObject({ type: `${type}/1`, source: 'sync-loop-0' });
  expect(evidenceOf(messages, { type, text: 'none' })?.id).not.toBe(first?.id);
  expect(evidenceOf(messages, { type: 'fact.pod' })).toBeDefined();
  expect(evidenceOf(messages, { type: 'worker.fact.status' })).toBeUndefined();
  // A pod that is gone is explained from its messages.
  expect(recordedPod(messages)).toMatchObject({ work: { reason: 'another' }, isGone: false });
  facts.remove(ref.uid);
  const all = broker.said.map((message, index) => ({ seq: index + 1, stored: index, message }));
  expect(recordedPod(all)).toMatchObject({ work: { reason: 'another' }, isGone: true });
  expect(recordedPod([])).toBeUndefined();
});

test('the reasons of an eviction are those of the last request for this pod', async () => {
  const broker = new LocalBroker('node0');
  broker.join('sync-loop', new ManualClock()).bus.serve(evictPod, () => Promise.resolve({ evicted: true }));
  const { bus } = broker.join('node-agent', new ManualClock());
  const request = { ref, failure: low, graceSeconds: 1 };
  await bus.call(evictPod, ref.uid, { ...request, decision: ofDisk });
  await bus.call(evictPod, ref.uid, { ...request, decision });
  await bus.call(evictPod, 'u2', { ...request, decision: ofDisk });
  const messages = broker.said.map((message, index) => ({ seq: index + 1, stored: index, message }));
  expect(decisionIn(messages, ref.uid)).toEqual(decision);
  expect(decisionIn([], ref.uid)).toBeUndefined();
});
