// Whole scenarios of pressure as the reference kubelet played them: which pods go, in which order, and what is seen of each. The
// thresholds are above what any machine has, so that none has to be short of anything.
import { afterEach, expect, test } from '@jest/globals';
import type { PodSpec } from '@kubus/contracts';
import { type ApiSource, type TestNode, type WatchedPod, isReady } from '@kubus/harness';
import type { NodeConfig } from '@kubus/service-kit';
import { sharedApiNode } from '../src/api-node.ts';
import { type GoldenPressure, type SeenEviction, goldenPressure, seenEviction } from '../src/golden-evictions.ts';
import { container, pod, shell } from '../src/pods.ts';

let node: TestNode;
let api: ApiSource;

sharedApiNode((parts) => {
  ({ node, api } = parts);
});

const critical = { priority: 2_000_000_000, priorityClassName: 'system-node-critical' };
const waiting = 'trap "exit 3" TERM; while :; do sleep 1 & wait $!; done';

interface Use {
  /** Fills something, and ends. */
  readonly fill: string;
  readonly last?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  /** The emptyDir at /data. */
  readonly volume?: object;
  readonly spec?: Partial<PodSpec>;
}

const memory = (mebibytes: number): Pick<Use, 'fill' | 'volume'> => ({
  ...{ fill: file('/data/f', mebibytes), volume: { medium: 'Memory' } },
});
const file = (path: string, mebibytes: number) => `dd if=/dev/zero of=${path} bs=1M count=${mebibytes} 2>/dev/null`;
const files = (folder: string, count: number) => `for i in $(seq ${count}); do : > ${folder}/$i; done`;
const forks = (count: number) => `for i in $(seq ${count}); do sleep 3600 & done`;
/** Lines of a log, in mebibytes. */
const lines = (mebibytes: number) => `dd if=/dev/zero bs=1M count=${mebibytes} 2>/dev/null | tr '\\0' x | fold -w 1023`;

function user(name: string, { fill, last = waiting, requests, limits, volume, spec }: Use): object {
  const mounts = volume === undefined ? {} : { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  const main = container({
    ...{ name: 'main', command: shell(`${fill}; touch /tmp/done; ${last}`), ...mounts },
    readinessProbe: { exec: { command: ['test', '-e', '/tmp/done'] }, periodSeconds: 1 },
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
  });
  const volumes = volume === undefined ? {} : { volumes: [{ name: 'data', emptyDir: volume }] };
  return pod(name, { ...spec, ...volumes, containers: [main] });
}

const create = (manifest: object) => api.create(JSON.stringify(manifest)).metadata.uid;
const hasFailed = ({ status }: WatchedPod) => status?.phase === 'Failed';
/** Nothing of it is left, and its status says so. */
const isOver = (one: WatchedPod) =>
  hasFailed(one) &&
  (one.worker === undefined || one.worker.state === 'terminated') &&
  (one.status?.conditions ?? []).every(
    ({ type, status }) => type !== 'PodReadyToStartContainers' || status === 'False',
  ) &&
  (one.status?.containerStatuses ?? []).every(({ state }) => state?.terminated !== undefined);

/** The reference removes the containers of an evicted pod, in some runs before it has read how they ended. */
function comparable(wanted: SeenEviction): object {
  const containers = wanted.containers.map((one) =>
    one.reason === 'ContainerStatusUnknown' ? expect.objectContaining({ name: one.name }) : one,
  );
  return { ...wanted, containers };
}

async function withThresholds(eviction: Partial<NodeConfig['eviction']>): Promise<void> {
  await node.reconfigure((config) => ({ ...config, eviction: { ...config.eviction, ...eviction } }));
  await node.restart('node-agent-0');
}

/** Starts the pods, lets the node run short, and compares what becomes of them. */
async function play(
  golden: GoldenPressure,
  pods: Readonly<Record<string, Use>>,
  eviction: Partial<NodeConfig['eviction']>,
): Promise<void> {
  for (const [name, use] of Object.entries(pods)) create(user(name, use));
  await Promise.all(Object.keys(pods).map((name) => node.watch.waitForPod(name, isReady)));
  const { messages } = node.watch;
  const before = { ofNode: messages.nodeEvents().length, ofPods: messages.podEvents().length };
  await withThresholds({ soft: {}, softGracePeriod: {}, hard: {}, maxPodGraceSeconds: 3, ...eviction });
  if (golden.pods['late'] !== undefined) {
    await node.watch.waitForPod(golden.order[0] ?? '', hasFailed);
    create(user('late', { fill: ':', requests: { memory: '10Mi' } }));
  }
  for (const [name, wanted] of Object.entries(golden.pods)) {
    const one = await node.watch.waitForPod(name, wanted.phase === 'Failed' ? isOver : isReady);
    expect([name, seenEviction(node, one)]).toEqual([name, comparable(wanted)]);
  }
  const evicted = messages.podEvents().slice(before.ofPods);
  const gone = evicted.flatMap(({ reason, ref }) => (reason === 'Evicted' && ref.name !== 'late' ? ref.name : []));
  expect(gone).toEqual(golden.order);
  const attempts = messages
    .nodeEvents()
    .slice(before.ofNode)
    .flatMap(({ reason, message }) => (reason === 'EvictionThresholdMet' ? message : []));
  expect([...new Set(attempts)]).toEqual(golden.attempts);
}

const short = (signal: string, amount: string): Partial<NodeConfig['eviction']> => ({
  ...{ soft: { [signal]: amount }, softGracePeriod: { [signal]: '1ms' } },
});

afterEach(async () => {
  for (const { metadata } of api.pods) await api.delete(metadata.uid);
  await withThresholds({ soft: {}, softGracePeriod: {}, hard: {} });
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
});

test('memory: best-effort pods go before burstable and guaranteed ones, a soft threshold shortens their grace period', async () => {
  const limits = { memory: '200Mi', cpu: '200m' };
  await play(
    goldenPressure('soft-memory'),
    {
      'best-effort-most': {
        ...memory(25),
        last: 'trap "sleep 20; exit 3" TERM; while :; do sleep 1; done',
        spec: { terminationGracePeriodSeconds: 30 },
      },
      'best-effort': memory(8),
      'burstable-above': { ...memory(34), requests: { memory: '30Mi' } },
      'burstable-within': { ...memory(8), requests: { memory: '100Mi' } },
      guaranteed: { ...memory(8), requests: limits, limits },
      urgent: { ...memory(30), spec: { priority: 1000 } },
      critical: { ...memory(30), spec: critical },
    },
    short('memory.available', '1Ti'),
  );
});

test('a hard threshold ends pods within their requests, too, and no critical one', async () => {
  await play(
    goldenPressure('hard-memory'),
    {
      'best-effort': memory(8),
      modest: { ...memory(4), requests: { memory: '100Mi' } },
      critical: { ...memory(30), spec: critical },
    },
    { hard: { 'memory.available': '99.9%' } },
  );
});

test('limits of local storage count volumes, logs and sidecars, and no memory volume', async () => {
  const limits = (amount: string) => ({ limits: { 'ephemeral-storage': amount } });
  const memoryVolume = { medium: 'Memory', sizeLimit: '5Mi' };
  create(user('memory-size-limit', { fill: file('/data/f', 20), volume: memoryVolume }));
  create(user('pod-limit', { fill: file('/data/f', 15), volume: {}, ...limits('10Mi') }));
  create(user('log-limit', { fill: lines(7), ...limits('4Mi') }));
  const side = container({
    ...{ name: 'side', restartPolicy: 'Always', resources: limits('4Mi') },
    command: shell(`${file('/f', 12)}; ${waiting}`),
  });
  create(user('sidecar-limit', { fill: ':', ...limits('5Mi'), spec: { initContainers: [side] } }));
  for (const [name, wanted] of Object.entries(goldenPressure('limits').pods)) {
    const one = await node.watch.waitForPod(name, wanted.phase === 'Failed' ? isOver : isReady);
    expect([name, seenEviction(node, one)]).toEqual([name, comparable(wanted)]);
  }
});

test('a disk: logs, layers and volumes count alike, memory volumes not, and nothing but critical pods is admitted', async () => {
  await play(
    goldenPressure('disk'),
    {
      'by-log': { fill: lines(9) },
      'by-layer': { fill: file('/f', 6) },
      'by-volume': { fill: file('/data/f', 4), volume: {} },
      'by-memory': memory(20),
      within: { fill: file('/data/f', 2), volume: {}, requests: { 'ephemeral-storage': '100Mi' } },
      critical: { fill: file('/data/f', 20), volume: {}, spec: critical },
    },
    short('nodefs.available', '100Ti'),
  );
});

test('inodes: files count alike in volumes and layers', async () => {
  await play(
    goldenPressure('inodes'),
    {
      'by-volume': { fill: files('/data', 300), volume: {} },
      'by-layer': { fill: `mkdir /d; ${files('/d', 150)}` },
      within: { fill: files('/data', 50), volume: {}, requests: { 'ephemeral-storage': '100Mi' } },
    },
    short('nodefs.inodesFree', '100G'),
  );
});

test('process IDs: the lowest priority goes first, then the number of processes decides', async () => {
  const last = 'trap "exit 3" TERM; while :; do wait; done';
  await play(
    goldenPressure('pids'),
    {
      most: { fill: forks(20), last },
      few: { fill: forks(5), last },
      urgent: { fill: forks(30), last, spec: { priority: 1000 } },
      critical: { fill: forks(10), last, spec: critical },
    },
    short('pid.available', '10000000'),
  );
});
