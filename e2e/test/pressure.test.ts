// A real shortage: the memory of all pods together is limited, and one pod takes most of it. The machine's own memory is never short.
import { totalmem } from 'node:os';
import { expect, test } from '@jest/globals';
import { type ApiSource, type TestNode, type WatchedPod, isReady } from '@kubus/harness';
import { sharedApiNode } from '../src/api-node.ts';
import { containerStatus, eventReasons } from '../src/pod-facts.ts';
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
function greedy(name: string, mebibytes: number): object {
  const line = `dd if=/dev/zero of=/mem/filled bs=1M count=${mebibytes} && touch /mem/full; sleep 3600`;
  return pod(name, {
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
const runsOf = (one: WatchedPod) => containerStatus(one)?.containerID;

test('a pod that writes more than its limit of ephemeral-storage is evicted, and one that writes less stays', async () => {
  const writes = (name: string, mebibytes: number) =>
    pod(name, {
      containers: [
        container({
          ...{ name: 'main', command: shell(`dd if=/dev/zero of=/filled bs=1M count=${mebibytes}; sleep 3600`) },
          resources: { limits: { 'ephemeral-storage': '10Mi' } },
        }),
      ],
    });
  const [within, above] = [create(writes('within', 5)), create(writes('above', 15))];
  const evicted = await node.watch.waitForPod('above', hasFailed);
  expect(evicted.status).toMatchObject({
    reason: 'Evicted',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ',
  });
  expect(evicted.status?.conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
  expect(eventReasons(node, evicted)).toContain('Warning Evicted');
  expect((await node.watch.waitForPod('within', isReady)).status?.phase).toBe('Running');
  await Promise.all([within, above].map((uid) => api.delete(uid)));
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
}, 60_000);

test('the pod that takes the memory is evicted, the others stay, and no restart brings it back', async () => {
  create(greedy('greedy', 300));
  create(pod('modest', { containers: [container({ name: 'main', resources: { requests: { memory: '100Mi' } } })] }));
  const taken = await node.watch.waitForPod('greedy', isReady);
  const modest = await node.watch.waitForPod('modest', isReady);

  await node.reconfigure((config) => ({
    ...config,
    reserved: { ...config.reserved, system: { memory: String(totalmem() - FORPODS) } },
    eviction: { ...config.eviction, hard: { 'memory.available': '400Mi' }, ofAllocatable: true },
  }));
  for (const service of ['pod-workers-0', 'node-agent-0']) await node.restart(service);
  const evicted = await node.watch.waitForPod('greedy', (one) => hasFailed(one) && one.worker?.state === 'terminated');
  expect(evicted.status).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: expect.stringMatching(
      /^The node was low on resource: memory\. Threshold quantity: 400Mi, available: \d+(Ki|Mi)?\. Container main was using \d+(Ki|Mi)?, request is 0, has larger consumption of memory\. $/,
    ),
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    ]),
    containerStatuses: [expect.objectContaining({ state: { terminated: expect.objectContaining({ exitCode: 137 }) } })],
  });
  expect(eventReasons(node, evicted)).toEqual(expect.arrayContaining(['Warning Evicted', 'Normal Killing']));
  const [told] = node.watch.messages.podEvents(evicted.ref.uid).filter(({ reason }) => reason === 'Evicted');
  expect(told?.annotations).toMatchObject({ offending_containers: 'main', starved_resource: 'memory' });

  // The condition lasts, so that what replaces it is not admitted.
  create(pod('late'));
  const refused = await node.watch.waitForPod('late', hasFailed);
  expect(refused.status).toMatchObject({
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
  });

  for (const service of services) await node.restart(service);
  await node.restart('cri-bridge-0');
  const after = await node.watch.waitForPod('modest', isReady);
  expect([runsOf(after), containerStatus(after)?.restartCount]).toEqual([runsOf(modest), 0]);
  const still = await node.watch.waitForPod('greedy', hasFailed);
  expect([still.status?.reason, runsOf(still)]).toEqual(['Evicted', runsOf(taken)]);
}, 120_000);
