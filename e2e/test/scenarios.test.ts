import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  ApiSource,
  ObjectCache,
  type RecordException,
  SCRUBBED_NODE_IP,
  type Scenario,
  type TestNode,
  checkout,
  eventRecord,
  poll,
  readScenarios,
  recordDifferences,
  runtimeRecord,
  scopeOf,
  startNode,
  statusRecord,
} from '@kubus/harness';
import { recordFailure } from '../src/failure-record.ts';
import { leftoversOfPods } from '../src/leftovers.ts';

/** Where Kubus differs from the reference on purpose. */
const exceptions: readonly RecordException[] = [
  {
    path: '.status.resources.limits',
    golden: { memory: '9007199254740988Ki' },
    reason:
      'What cgroup v1 says of a pod without a memory limit, read back as if it were one; the reference shows it or not, depending on when it made the status.',
  },
];

/** The folder of the host that scenarios mount. */
const HOST_FOLDER = '/tmp/kubus-scenario';
/** A busy machine may take so many times as long as the reference took until a scenario has settled. */
const PATIENCE = 5;
/** Scenarios that run at the same time. */
const AT_ONCE = 4;

interface Stage {
  node: TestNode;
  api: ApiSource;
  objects: ObjectCache;
}

const scenarios = await readScenarios(join(checkout, 'e2e/data/scenarios'));
const outcomes = new Map(scenarios.map(({ name }) => [name, Promise.withResolvers<string[]>()] as const));
const stage: Partial<Stage> = {};
let playing: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  const node = (stage.node = await startNode({ elsewhere: ['config-sources'] }));
  await node.reconfigure((config) => ({
    ...config,
    nodeIps: [SCRUBBED_NODE_IP],
    dns: { ...config.dns, servers: ['10.96.0.10'], domain: 'cluster.local' },
  }));
  await node.restart('pod-workers-0');
  const objects = (stage.objects = await ObjectCache.open(node));
  const https = { name: 'https', port: 443 };
  objects.putService({ namespace: 'default', name: 'kubernetes', clusterIP: '10.96.0.1', ports: [https] });
  const api = (stage.api = await ApiSource.open(node));
  // Those that take longest come first.
  const queue = [...scenarios].sort((a, b) => b.settleSeconds - a.settleSeconds);
  const player = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const outcome = outcomes.get(next.name);
      outcome?.promise.catch(() => undefined);
      await play({ node, api, objects }, next).then(outcome?.resolve, outcome?.reject);
    }
  };
  playing = Promise.all(Array.from({ length: AT_ONCE }, player));
});

afterAll(async () => {
  await stage.api?.close();
  await stage.objects?.close();
  await stage.node?.stop();
});

/**
 * Has the node run a scenario's pod until its record is the reference's, or long enough for that. Returns where the two
 * differ. The pod is gone afterwards: deleted as the scenario has it, else at once.
 */
async function play({ node, api, objects }: Stage, scenario: Scenario): Promise<string[]> {
  const { name, deletes, settleSeconds, golden } = scenario;
  const namespace = `s-${name}`;
  const hostFolder = join(node.folder, name);
  for (const object of scenario.objects(namespace)) objects.put(object);
  const { metadata, spec } = api.create(scenario.pod.replaceAll(HOST_FOLDER, hostFolder), namespace);
  const { uid } = metadata;
  const scope = scopeOf(node, namespace, { [HOST_FOLDER]: hostFolder });
  const told = () => ({
    status: statusRecord(node.watch.pod(uid)?.status, scope),
    events: eventRecord(node, uid, scope),
  });

  let looked: readonly unknown[] = [];
  const settled = () => {
    const now = [node.watch.pod(uid)?.status, node.watch.messages.podEvents(uid).length];
    // Every message of the node brings a look, and a comparison takes time.
    if (now.every((part, index) => part === looked[index])) return undefined;
    looked = now;
    const differences = recordDifferences(golden, told(), exceptions);
    const awaited = deletes ? ['.status'] : ['.status', '.events'];
    return differences.some((line) => awaited.some((field) => line.startsWith(field))) ? undefined : told();
  };
  const record = await node.watch.until(name, settled, settleSeconds * PATIENCE * 1000).catch(told);
  const runtime = await runtimeRecord(node, uid, scope);
  if (!deletes) {
    await api.delete(uid, 0);
    return recordDifferences(golden, { ...record, cri: runtime }, exceptions);
  }
  const began = performance.now();
  await api.delete(uid);
  const took = performance.now() - began;
  const grace = (spec.terminationGracePeriodSeconds ?? 30) * 1000;
  const events = eventRecord(node, uid, scope);
  const deleted = { ...record, cri: runtime, events, deleted_within_grace: took < grace + 5_000 };
  return recordDifferences(golden, deleted, exceptions);
}

test.each(scenarios.map(({ name }) => name))('%s is as the reference has it', async (name) => {
  const differences = await outcomes.get(name)?.promise;
  if (stage.node !== undefined && differences?.length !== 0) {
    await recordFailure(stage.node, `scenario-${name}`, differences?.join('\n') ?? '');
  }
  expect(differences).toEqual([]);
});

test('nothing is left of the pods', async () => {
  await playing;
  const { node } = stage;
  if (node === undefined) throw new Error('the node did not start');
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
  let left: string[] = [];
  const isEmpty = async () => ((left = await leftoversOfPods(node)).length === 0 ? true : undefined);
  await poll('nothing is left', isEmpty).catch(() => undefined);
  expect(left).toEqual([]);
});
