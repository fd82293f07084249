// Evictions as the other services see them; pods, signals and figures are the test's, and no container runs.
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Bus, type FactOwner, HEADER } from '@kubus/bus';
import { LocalBroker } from '@kubus/bus/testing';
import {
  type EvictionDecision,
  type NodeEvent,
  type NodePressure,
  type Pod,
  type PodFailure,
  type PodWork,
  type PodWorkerReport,
  type RuntimeContainer,
  type RuntimePod,
  evictPod,
  freeImages,
  nodeAgentEvent,
  podRefOf,
  podWork,
  podWorker,
  readPressure,
  runtimePod,
} from '@kubus/contracts';
import { type Disks, type Observations, type Signal, parseThresholds } from '@kubus/eviction';
import type { PodReading } from '@kubus/node-metrics';
import { exited as makeExited, pod as makePod, sandbox as makeSandbox } from '@kubus/pod-lifecycle/testing';
import { silentLogger } from '@kubus/ports';
import { ManualClock, settled } from '@kubus/ports/testing';
import { EventRecorder } from '@kubus/service-kit';
import { ActivePods } from '../src/pressure/active-pods.ts';
import { Eviction } from '../src/pressure/eviction.ts';
import { PressureQuery } from '../src/pressure/pressure-query.ts';
import { PressureWatch } from '../src/pressure/pressure-watch.ts';
import { NAME } from './member.ts';

const MI = 1024 * 1024;
const since = '2030-01-01T00:00:00.000Z';

let clock: ManualClock;
let broker: LocalBroker;
let works: FactOwner<PodWork>;
let workers: FactOwner<PodWorkerReport>;
let runtimes: FactOwner<RuntimePod>;
/** What sync-loop was asked to end. */
let asked: { uid: string; graceSeconds: number; failure: PodFailure }[];
/** The reasons that these requests gave. */
let decisions: (EvictionDecision | undefined)[];
let refused: Set<string>;
/** MiB, and percent of the disk. */
let left: { memory: number; disk: number };
let removals: number;
let usage: PodReading[];

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  broker = new LocalBroker(NAME);
  [asked, decisions, refused, usage, removals] = [[], [], new Set(), [], 0];
  left = { memory: 1000, disk: 50 };
  const { bus } = broker.join('sync-loop', clock);
  works = bus.owner(podWork);
  bus.serve(evictPod, ({ key, request: { failure, graceSeconds, decision } }) => {
    const evicted = !refused.has(key);
    if (evicted) asked.push({ uid: key, graceSeconds, failure });
    if (evicted) decisions.push(decision);
    return Promise.resolve({ evicted });
  });
  workers = broker.join('pod-workers', clock).bus.owner(podWorker);
  const bridge = broker.join('cri-bridge', clock).bus;
  runtimes = bridge.owner(runtimePod);
  bridge.serve(freeImages, () => {
    removals += 1;
    left.disk += 10;
    return Promise.resolve({ images: 1, bytes: 4096 });
  });
});

const podRef = (uid: string) => ({ namespace: 'default', name: uid, uid });

/** A running pod that uses these MiB of memory. */
function runs(uid: string, memory: number, spec: Partial<Pod['spec']> = {}): void {
  const pod = makePod({ containers: [{ name: 'c' }], ...spec }, { uid, name: uid });
  const ref = podRefOf(pod);
  const work: PodWork = {
    ref,
    pod,
    source: 'api',
    work: 'sync',
    reason: '',
    worker: 'pod-workers-0',
    firstSeen: since,
  };
  works.put(uid, work);
  workers.put(uid, { ref, state: 'syncing', since });
  const bytes = { usageBytes: 0, workingSetBytes: memory * MI, rssBytes: 0, faults: { all: 0, major: 0 } };
  const cgroup = { path: `/${uid}`, atMs: 0, startedAtMs: 0, nanoCores: 0, usage: { cpuNs: 0, memory: bytes } };
  const read = { ref, startedAtMs: 0, volumes: [], processes: 1, containers: [], cgroup };
  usage.push(read as unknown as PodReading);
}

/** Its worker has stopped and cleaned up the pod. */
function ends(uid: string): void {
  workers.put(uid, { ref: { namespace: 'default', name: uid, uid }, state: 'terminated', cleaned: true, since });
}

function watch(evictionHard: Record<string, string>, soft: Record<string, string> = {}) {
  const { bus } = broker.join('node-agent', clock);
  const pods = new ActivePods(bus);
  const eviction = new Eviction({
    ...{ bus, clock, logger: silentLogger, pods, maxPodGraceSeconds: 7, minContainerAgeMs: 0 },
    usage: () => Promise.resolve(usage),
    events: new EventRecorder({ bus, clock }).ofNode(nodeAgentEvent),
  });
  const periods = Object.fromEntries(Object.keys(soft).map((signal) => [signal, '15s']));
  const settings = { evictionHard, evictionSoft: soft, evictionSoftGracePeriod: periods, evictionMinimumReclaim: {} };
  const watching = new PressureWatch({
    ...{ bus, clock, logger: silentLogger, transitionMs: 60_000, changed: () => undefined },
    thresholds: parseThresholds(settings, { enforcesPods: false }),
    relieve: (need) => eviction.relieve(need),
    enforceLimits: (disks, signal) => eviction.enforceLimits(disks, signal),
    read: () => {
      const atMs = clock.now();
      const observations: Observations = {
        'memory.available': { available: left.memory * MI, capacity: 1000 * MI, atMs },
        'nodefs.available': { available: left.disk, capacity: 100, atMs },
      };
      return Promise.resolve({ observations, disks: 'one' });
    },
  });
  const rank = (signal: Signal, disks: Disks) => eviction.rank(signal, disks);
  new PressureQuery({ bus, transitionMs: 60_000, view: () => watching.view(), rank });
  return watching;
}

const uids = () => asked.map(({ uid }) => uid);
const pass = async (ms: number) => {
  await clock.advance(ms);
  await settled();
};
const nodeEvents = () =>
  broker.said.flatMap(({ headers, data }) =>
    Object.values(headers).includes('node.event.recorded/1') ? [(JSON.parse(data) as NodeEvent).message] : [],
  );

test('one pod goes, and the next only when it has ended and there still is too little', async () => {
  runs('small', 10);
  runs('large', 100);
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await settled();
  expect(asked).toEqual([
    {
      uid: 'large',
      graceSeconds: 1,
      failure: expect.objectContaining({
        reason: 'Evicted',
        message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
      }),
    },
  ]);
  expect(nodeEvents()).toEqual(['Attempting to reclaim memory']);
  await pass(10_000);
  expect(uids()).toEqual(['large']);

  works.remove('large');
  ends('large');
  await settled();
  expect(uids()).toEqual(['large', 'small']);
  left.memory = 500;
  ends('small');
  await pass(60_000);
  expect(uids()).toEqual(['large', 'small']);
  watching.stop();
});

test('the end of a pod is not waited for longer than 30 s', async () => {
  runs('first', 100);
  runs('second', 10);
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await pass(29_000);
  expect(uids()).toEqual(['first']);
  refused.add('first');
  await pass(1_000);
  expect(uids()).toEqual(['first', 'second']);
  watching.stop();
});

test('critical pods and those that sync-loop no longer has are passed over', async () => {
  runs('critical', 500, { priority: 2_000_000_000 });
  runs('gone', 400);
  runs('third', 1);
  refused.add('gone');
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await settled();
  expect(uids()).toEqual(['third']);
  watching.stop();
});

test('a node with critical pods alone evicts none, and tries again with the next pass', async () => {
  runs('critical', 500, { priority: 2_000_000_000 });
  left.memory = 50;
  const watching = watch({ 'memory.available': '100Mi' });
  await pass(10_000);
  expect(asked).toEqual([]);
  runs('plain', 1);
  await pass(10_000);
  expect(uids()).toEqual(['plain']);
  watching.stop();
});

test('images go before pods, and pods stay when that was enough', async () => {
  runs('web', 1);
  left.disk = 9;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  expect([removals, asked]).toEqual([1, []]);
  left.disk = -5;
  await pass(10_000);
  expect([removals, uids()]).toEqual([2, ['web']]);
  watching.stop();
});

test('containers of pods that have ended go first, and images when they are gone', async () => {
  const sandbox = makeSandbox({ ready: false });
  const ref = { namespace: 'default', name: 'done', uid: 'done' };
  const has = (containers: RuntimeContainer[]) =>
    runtimes.put('done', { ref, stamp: { epoch: 2, counter: 1 }, sandboxes: [sandbox], containers });
  has([makeExited(0)]);
  ends('done');
  left.disk = 9;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  const removesEnded = () =>
    broker.said.flatMap(({ headers, data }) =>
      Object.values(headers).includes('node.fact.pressure/1') ? [(JSON.parse(data) as NodePressure).removesEnded] : [],
    );
  expect([removesEnded(), removals]).toEqual([[undefined, true], 0]);
  has([]);
  await settled();
  expect(removals).toBe(0);
  runtimes.remove('done');
  await settled();
  expect([removesEnded(), removals]).toEqual([[undefined, true, undefined], 0]);
  // The runtime has up to three seconds to give back what was theirs.
  await pass(2_750);
  expect(removals).toBe(0);
  await pass(250);
  expect(removals).toBe(1);
  watching.stop();
});

test('what the runtime gives back a moment after containers were removed costs no pod', async () => {
  runs('first', 1);
  runs('second', 1);
  left.disk = -50;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  expect(uids()).toEqual(['first']);
  works.remove('first');
  ends('first');
  await pass(1_000);
  expect(uids()).toEqual(['first']);
  left.disk = 50;
  await pass(60_000);
  expect(uids()).toEqual(['first']);
  watching.stop();
});

test('containers that stay in spite of it are not waited for longer than 30 s', async () => {
  const ref = { namespace: 'default', name: 'done', uid: 'done' };
  const stamp = { epoch: 2, counter: 1 };
  runtimes.put('done', { ref, stamp, sandboxes: [], containers: [makeExited(0)] });
  ends('done');
  left.disk = 9;
  const watching = watch({ 'nodefs.available': '10%' });
  await pass(29_000);
  expect(removals).toBe(0);
  await pass(1_000);
  expect(removals).toBe(1);
  watching.stop();
});

test('a soft threshold evicts after its grace period, with the pod’s own or the longest grace period', async () => {
  runs('web', 1, { terminationGracePeriodSeconds: 30 });
  left.memory = 50;
  const watching = watch({}, { 'memory.available': '100Mi' });
  await pass(10_000);
  expect(asked).toEqual([]);
  await pass(10_000);
  expect(asked).toMatchObject([{ uid: 'web', graceSeconds: 7 }]);
  watching.stop();
});

test('a pod above its limit of ephemeral-storage goes, without any threshold, and without a condition of the node', async () => {
  const limited = { containers: [{ name: 'c', resources: { limits: { 'ephemeral-storage': '1Mi' } } }] };
  runs('within', 1, limited);
  runs('above', 1, limited);
  runs('critical', 1, { ...limited, priority: 2_000_000_000 });
  usage = usage.map((one) => {
    const logs = { usedBytes: one.ref.uid === 'within' ? MI : MI + 1, inodesUsed: 1 };
    return { ...one, containers: [{ name: 'c', logs }] } as unknown as PodReading;
  });
  const watching = watch({});
  await pass(10_000);
  expect(asked).toEqual([
    {
      uid: 'above',
      graceSeconds: 1,
      failure: {
        reason: 'Evicted',
        message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ',
      },
    },
  ]);
  expect([watching.pressure.disk, nodeEvents()]).toEqual([false, []]);
  watching.stop();
});

test('without limits and thresholds no pod is measured', async () => {
  runs('web', 1);
  let measured = 0;
  const reading = usage;
  usage = new Proxy(reading, { get: (all, name) => ((measured += 1), Reflect.get(all, name) as unknown) });
  const watching = watch({});
  await pass(30_000);
  expect(measured).toBe(0);
  watching.stop();
});

test('the request to end a pod says what was short, what was removed before, and who else was considered', async () => {
  runs('web', 10);
  runs('critical', 500, { priority: 2_000_000_000 });
  left.disk = -5;
  const watching = watch({ 'nodefs.available': '10%' });
  await settled();
  expect(decisions).toEqual([
    {
      ...{ signal: 'nodefs.available', threshold: '10%', amount: 10, graceSeconds: 0, available: -5, capacity: 100 },
      readAt: '2030-01-01T00:00:00.000Z',
      // The runtime reports 4096 bytes: what the file system has more of it counts.
      reclaimed: [
        { what: 'containers', before: -5, after: -5 },
        { what: 'images', before: -5, after: 5 },
      ],
      ranking: {
        ...{ signal: 'nodefs.available', leftOut: 0 },
        pods: [
          { ref: podRef('web'), critical: false, exceeds: false, priority: 0, used: 0, requested: 0 },
          { ref: podRef('critical'), critical: true, exceeds: false, priority: 2_000_000_000, used: 0, requested: 0 },
        ],
      },
    },
  ]);
  // The only message of cri-bridge is its answer.
  const request = broker.said.find(({ headers }) => headers[HEADER.type] === 'sync.cmd.evict/1');
  expect(request?.headers[HEADER.causes]).toMatch(/^cri-bridge-0\./);
  watching.stop();
});

describe('the query', () => {
  let bus: Bus;

  beforeEach(() => {
    ({ bus } = broker.join('cli', clock));
  });

  const query = async (signal?: string, readings = false) => {
    const answer = bus.call(readPressure, NAME, { readings, ...(signal !== undefined && { signal }) });
    await settled();
    return (await answer).result;
  };

  test('shows signals with their slopes, thresholds with the time to them, and who would go', async () => {
    runs('small', 10);
    runs('large', 100);
    const watching = watch({ 'memory.available': '100Mi' });
    await settled();
    left.memory = 900;
    await pass(10_000);
    const report = await query();
    expect(report.signals[0]).toMatchObject({ signal: 'memory.available', available: 900 * MI, perSecond: -10 * MI });
    expect(report.thresholds).toEqual([
      { signal: 'memory.available', value: '100Mi', amount: 100 * MI, graceSeconds: 0, secondsLeft: 80 },
    ]);
    expect(report.ranking?.pods.map(({ ref, used }) => [ref.name, used])).toEqual([
      ['large', 100 * MI],
      ['small', 10 * MI],
    ]);
    expect([report.conditions, report.transitionSeconds, asked]).toEqual([[], 60, []]);
    watching.stop();
  });

  test('of a node without thresholds has the signals alone, and a ranking where one is asked for', async () => {
    runs('web', 10);
    const watching = watch({});
    expect(await query()).toMatchObject({ signals: [{ signal: 'memory.available' }, {}], thresholds: [] });
    expect(await query()).not.toHaveProperty('ranking');
    expect((await query('pid.available')).ranking?.pods.map(({ ref }) => ref.name)).toEqual(['web']);
    watching.stop();
  });

  test('has the readings where they are asked for, also of a node without thresholds', async () => {
    const watching = watch({});
    expect(await query()).not.toHaveProperty('readings');
    left.memory = 900;
    await pass(10_000);
    const { readings, signals } = await query(undefined, true);
    expect(readings?.map(({ available }) => available['memory.available'])).toEqual([1000 * MI, 900 * MI]);
    expect(signals[0]).toMatchObject({ perSecond: -10 * MI });
    watching.stop();
  });

  test('refuses a signal that there is none of', async () => {
    const watching = watch({});
    await expect(query('cpu.available')).rejects.toMatchObject({ code: 'unknown-signal' });
    watching.stop();
  });
});
