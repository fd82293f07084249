import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  type RecordException,
  SCRUBBED_NODE_IP,
  type Scenario,
  type ToldEvent,
  checkout,
  eventRecord,
  poll,
  readScenarios,
  recordDifferences,
  runtimeRecord,
  scopeOf,
  statusRecord,
} from '@kubus/harness';
import { type Cluster, type JsonObject, pathOf } from '@kubus/kube-fixture';
import { runCommand } from '@kubus/launcher';
import { parse } from 'yaml';
import { type ClusterNode, sharedClusterNode } from '../src/cluster-node.ts';
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
/** The factor by which a busy machine may take longer than the reference until a scenario has settled. */
const PATIENCE = 5;
/** Scenarios that run at the same time. */
const AT_ONCE = 4;

const scenarios = await readScenarios(join(checkout, 'e2e/data/scenarios'));
const outcomes = new Map(scenarios.map(({ name }) => [name, Promise.withResolvers<string[]>()] as const));
let stage: ClusterNode | undefined;
let playing: Promise<unknown> = Promise.resolve();

sharedClusterNode({}, async (parts) => {
  stage = parts;
  const { node, cluster } = parts;
  await runCommand(node.inside(['ip', 'address', 'add', `${SCRUBBED_NODE_IP}/32`, 'dev', 'lo']));
  await node.reconfigure((config) => ({
    ...config,
    nodeIps: [SCRUBBED_NODE_IP],
    dns: { ...config.dns, servers: ['10.96.0.10'], domain: 'cluster.local' },
  }));
  await Promise.all(['node-agent-0', 'pod-workers-0'].map((instance) => node.restart(instance)));
  await cluster.api.waitFor({ kind: 'Node', name: node.name }, (object) =>
    JSON.stringify(object.status ?? {}).includes(SCRUBBED_NODE_IP),
  );
  const metadata = { namespace: 'default', name: 'kubernetes' };
  if ((await cluster.api.get({ kind: 'Service', ...metadata })) === undefined) {
    const ports = [{ name: 'https', port: 443, protocol: 'TCP' }];
    await cluster.api.create({ apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.1', ports } });
  }
  // The longest ones first.
  const queue = [...scenarios].sort((a, b) => b.settleSeconds - a.settleSeconds);
  const player = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const outcome = outcomes.get(next.name);
      outcome?.promise.catch(() => undefined);
      await play(parts, next).then(outcome?.resolve, outcome?.reject);
    }
  };
  playing = Promise.all(Array.from({ length: AT_ONCE }, player));
});

/**
 * Runs a scenario's pod on the node until its record at the API server equals that of the reference, or until a time limit.
 * Returns the differences. The pod is removed afterwards: as the scenario defines it, else at once.
 */
async function play({ node, cluster: { api, server } }: ClusterNode, scenario: Scenario): Promise<string[]> {
  const { name, deletes, settleSeconds, golden } = scenario;
  const namespace = `s-${name}`;
  await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  // The test API server has no controller that creates it.
  if (server !== undefined) {
    await api.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } });
  }
  for (const { metadata, ...object } of scenario.objects) {
    await api.create({ ...object, metadata: { ...(metadata as JsonObject), namespace } });
  }
  const hostFolder = join(node.folder, name);
  const manifest = parse(scenario.pod.replaceAll(HOST_FOLDER, hostFolder)) as {
    metadata: JsonObject;
    spec: JsonObject;
  };
  const created = await api.create({
    ...manifest,
    metadata: { ...manifest.metadata, namespace },
    spec: { ...manifest.spec, nodeName: node.name },
  });
  const { uid } = created.metadata;
  const pod = { kind: 'Pod', namespace, name: created.metadata.name };
  const scope = scopeOf(node, namespace, { [HOST_FOLDER]: hostFolder });
  const events = async () => eventRecord(await toldBy(api, namespace, uid), scope);
  const readRecord = async () => ({
    status: statusRecord((await api.get(pod))?.status, scope),
    events: await events(),
  });

  const awaited = deletes ? ['.status'] : ['.status', '.events'];
  const settled = async () => {
    const record = await readRecord();
    const differences = recordDifferences(golden, record, exceptions);
    return differences.some((line) => awaited.some((field) => line.startsWith(field))) ? undefined : record;
  };
  const changing = [pathOf({ ...pod, name: '' }), pathOf({ kind: 'Event', namespace, name: '' })];
  const record = (await afterChange(api, changing, settled, settleSeconds * PATIENCE * 1000)) ?? (await readRecord());
  const runtime = await runtimeRecord(node, uid, scope);
  if (!deletes) {
    await api.delete(pod, { gracePeriodSeconds: 0 });
    return recordDifferences(golden, { ...record, cri: runtime }, exceptions);
  }
  const began = performance.now();
  await api.delete(pod);
  await api.waitGone(pod);
  const took = performance.now() - began;
  const { terminationGracePeriodSeconds: graceSeconds = 30 } = manifest.spec as {
    terminationGracePeriodSeconds?: number;
  };
  const deleted = {
    ...record,
    cri: runtime,
    events: await events(),
    deleted_within_grace: took < (graceSeconds + 5) * 1000,
  };
  return recordDifferences(golden, deleted, exceptions);
}

/**
 * The result of `look` as soon as it is defined; called again after each change in the collections. Undefined after
 * `limitMs`.
 */
async function afterChange<T>(
  api: Cluster,
  collections: readonly string[],
  look: () => Promise<T | undefined>,
  limitMs: number,
): Promise<T | undefined> {
  const watches = await Promise.all(collections.map((path) => api.watch(path)));
  const end = () => watches.forEach((watch) => watch.close());
  const timer = setTimeout(end, limitMs);
  try {
    const next = new Map(watches.map((watch) => [watch, watch.next()]));
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      const changed = await Promise.race(
        [...next].map(async ([watch, event]) => ((await event) === undefined ? undefined : watch)),
      );
      if (changed === undefined) return undefined;
      next.set(changed, changed.next());
    }
  } finally {
    clearTimeout(timer);
    end();
  }
}

/** The events about a pod that the API server has. */
async function toldBy(api: Cluster, namespace: string, uid: string): Promise<ToldEvent[]> {
  const objects = (await api.list('Event', namespace)) as unknown as (ToldEvent & {
    involvedObject: { uid: string; fieldPath?: string };
  })[];
  return objects
    .filter(({ involvedObject }) => involvedObject.uid === uid)
    .map(({ type, reason, message, involvedObject: { fieldPath } }) => ({ type, reason, message, fieldPath }));
}

test.each(scenarios.map(({ name }) => name))('%s matches the reference', async (name) => {
  const differences = await outcomes.get(name)?.promise;
  if (stage !== undefined && differences?.length !== 0) {
    await recordFailure(stage.node, `scenario-${name}`, differences?.join('\n') ?? '');
  }
  expect(differences).toEqual([]);
});

test('the pods leave nothing behind', async () => {
  await playing;
  if (stage === undefined) throw new Error('the node did not start');
  const { node } = stage;
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
  let left: string[] = [];
  const isEmpty = async () => ((left = await leftoversOfPods(node)).length === 0 ? true : undefined);
  await poll('nothing is left', isEmpty).catch(() => undefined);
  expect(left).toEqual([]);
});
