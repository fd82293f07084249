// A real shortage: the memory of all pods together is limited, and one pod takes most of it. The machine's own memory is never short.
import { totalmem } from 'node:os';
import { expect, test } from '@jest/globals';
import { type ApiSource, type TestNode, type WatchedPod, isReady } from '@kubus/harness';
import { sharedApiNode } from '../src/api-node.ts';
import { containerStatus, eventReasons } from '../src/pod-facts.ts';
import { goldenEviction, seenEviction } from '../src/golden-evictions.ts';
import { container, pod, shell } from '../src/pods.ts';

const MEBIBYTE = 1024 * 1024;
const FORPODS = 600 * MEBIBYTE;
const services = ['node-agent-0', 'sync-loop-0', 'pod-workers-0'];

let node: TestNode;
let api: ApiSource;

sharedApiNode((parts) => {
  ({ node, api } = parts);
});

/** A pod that fills a volume in memory, and then is ready. */
function greedy(name: string, mebibytes: number, more: { last?: string; spec?: object } = {}): object {
  const { last = 'sleep 3600', spec = {} } = more;
  const line = `dd if=/dev/zero of=/mem/filled bs=1M count=${mebibytes} && touch /mem/full; ${last}`;
  return pod(name, {
    ...spec,
    volumes: [{ name: 'mem', emptyDir: { medium: 'Memory' } }],
    containers: [
      container({
        ...{ name: 'main', command: shell(line), volumeMounts: [{ name: 'mem', mountPath: '/mem' }] },
        readinessProbe: { exec: { command: ['test', '-e', '/mem/full'] }, periodSeconds: 1 },
      }),
    ],
  });
}

const create = (manifest: object) => api.create(JSON.stringify(manifest)).metadata.uid;
const hasFailed = ({ status }: WatchedPod) => status?.phase === 'Failed';
/** Nothing of it is left, and its status says so: the worker's state may arrive before it. */
const isOver = ({ status, worker }: WatchedPod) =>
  worker?.state === 'terminated' &&
  (status?.phase === 'Failed' || status?.phase === 'Succeeded') &&
  (status.conditions ?? []).some(({ type, status: is }) => type === 'PodReadyToStartContainers' && is === 'False') &&
  (status.containerStatuses ?? []).every(({ state }) => state?.terminated !== undefined);
const runsOf = (one: WatchedPod) => containerStatus(one)?.containerID;

const limited = (name: string, limit: string, line: string) =>
  container({ name, command: shell(line), resources: { limits: { 'ephemeral-storage': limit } } });
const fill = (path: string, mebibytes: number) => `dd if=/dev/zero of=${path} bs=1M count=${mebibytes}; sleep 3600`;

test('a pod that writes more than its limit of ephemeral-storage is evicted, and one that writes less stays', async () => {
  const writes = (name: string, mebibytes: number) =>
    pod(name, { containers: [limited('main', '10Mi', fill('/filled', mebibytes))] });
  const [within, above] = [create(writes('within', 5)), create(writes('above', 15))];
  const ofContainer = create(
    pod('container-limit', {
      containers: [limited('main', '10Mi', fill('/filled', 20)), limited('other', '100Mi', 'sleep 3600')],
    }),
  );
  const ofVolume = create(
    pod('size-limit', {
      volumes: [{ name: 'data', emptyDir: { sizeLimit: '5Mi' } }],
      containers: [
        container({
          ...{ name: 'main', command: shell(fill('/data/filled', 10)) },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
      ],
    }),
  );
  const evicted = await node.watch.waitForPod('above', hasFailed);
  expect(evicted.status).toMatchObject({
    reason: 'Evicted',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ',
  });
  expect(evicted.status?.conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
  expect(eventReasons(node, evicted)).toContain('Warning Evicted');
  expect((await node.watch.waitForPod('within', isReady)).status?.phase).toBe('Running');
  for (const name of ['container-limit', 'size-limit'] as const) {
    const gone = await node.watch.waitForPod(name, isOver);
    expect(seenEviction(node, gone)).toEqual(goldenEviction(name));
  }
  await Promise.all([within, above, ofContainer, ofVolume].map((uid) => api.delete(uid)));
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
}, 60_000);

test('the pods that take the memory are evicted, the lowest priority first, the others stay, and no restart brings them back', async () => {
  create(greedy('greedy', 150));
  // It uses more, but has the higher priority; it exits with 0 when it is stopped.
  const last = 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done';
  create(greedy('urgent', 250, { last, spec: { priority: 1000 } }));
  const requests = (memory: string) => ({ command: shell('sleep 3600'), resources: { requests: { memory } } });
  create(pod('modest', { containers: [container({ name: 'main', ...requests('100Mi') })] }));
  const taken = await node.watch.waitForPod('greedy', isReady);
  await node.watch.waitForPod('urgent', isReady);
  const modest = await node.watch.waitForPod('modest', isReady);

  await node.reconfigure((config) => ({
    ...config,
    reserved: { ...config.reserved, system: { memory: String(totalmem() - FORPODS) } },
    eviction: { ...config.eviction, hard: { 'memory.available': '400Mi' }, ofAllocatable: true },
  }));
  for (const service of ['pod-workers-0', 'node-agent-0']) await node.restart(service);
  const evicted = await node.watch.waitForPod('greedy', isOver);
  expect(evicted.status?.message).toContain('Threshold quantity: 400Mi');
  expect(seenEviction(node, evicted)).toEqual(goldenEviction('memory'));
  const succeeded = await node.watch.waitForPod('urgent', isOver);
  // The reference was not seen to record the event Evicted of a pod that ends well; here it has one like the others.
  const { events, ...ending } = goldenEviction('exits-with-0');
  expect(seenEviction(node, succeeded)).toEqual({ ...ending, events: expect.arrayContaining([...events]) });
  expect(eventReasons(node, succeeded)).toContain('Warning Evicted');

  const shown = await node.kubus('pressure');
  expect(shown.stdout).toMatch(/^allocatableMemory\.available .* 400Mi /m);
  expect(shown.stdout).toMatch(/^1 +default +modest +no +0 /m);
  const trace = await node.kubus('trace', 'pod', 'urgent');
  expect(trace.stdout).toMatch(/^Why this pod: .* It was the first of 2 pods that could go/m);
  expect(trace.stdout).toMatch(/ node-agent-0 {2}sync\.cmd\.evict /);
  const why = await node.kubus('why', 'greedy');
  expect(why.stdout).toMatch(/It was the first of 3 pods that could go: .*; next was default\/urgent/);

  // The condition lasts, so that what replaces it is not admitted.
  create(pod('late'));
  const refused = await node.watch.waitForPod('late', hasFailed);
  expect(seenEviction(node, refused)).toEqual(goldenEviction('refused'));

  for (const service of services) await node.restart(service);
  await node.restart('cri-bridge-0');
  const after = await node.watch.waitForPod('modest', isReady);
  expect([runsOf(after), containerStatus(after)?.restartCount]).toEqual([runsOf(modest), 0]);
  const still = await node.watch.waitForPod('greedy', hasFailed);
  expect([still.status?.reason, runsOf(still)]).toEqual(['Evicted', runsOf(taken)]);

  // A critical pod is admitted in spite of the condition, and has its memory from a pod that is not.
  const critical = { priority: 2_000_000_000, priorityClassName: 'system-node-critical' };
  create(pod('critical', { ...critical, containers: [container({ name: 'main', ...requests('550Mi') })] }));
  const preempted = await node.watch.waitForPod('modest', isOver);
  expect(seenEviction(node, preempted)).toEqual(goldenEviction('preemption'));
  await node.watch.waitForPod('critical', isReady);
});
