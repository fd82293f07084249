import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  ApiSource,
  type RecordException,
  SCRUBBED_NODE_IP,
  type Scenario,
  type TestNode,
  checkout,
  eventRecord,
  readScenarios,
  recordDifferences,
  runtimeRecord,
  scopeOf,
  startNode,
  statusRecord,
} from '@kubus/harness';

/** Where Kubus differs from the reference on purpose. */
const exceptions: readonly RecordException[] = [];

/** A slow machine may take so many times as long as the reference took until a scenario has settled. */
const PATIENCE = 5;

/** Scenarios that run at the same time. Some of them have to be on their way within seconds. */
const AT_ONCE = 4;

const scenarios = await readScenarios(join(checkout, 'e2e/data/scenarios'));
let node: TestNode | undefined;
let api: ApiSource | undefined;
const records = new Map<string, PromiseWithResolvers<string[]>>();

beforeAll(async () => {
  node = await startNode({ elsewhere: ['config-sources'] });
  const on = node;
  await node.reconfigure((config) => ({
    ...config,
    nodeIps: [SCRUBBED_NODE_IP],
    dns: { ...config.dns, servers: ['10.96.0.10'], domain: 'cluster.local' },
  }));
  await node.restart('pod-workers-0');
  api = await ApiSource.open(node);
  const source = api;
  // Those that take longest come first.
  const queue = [...scenarios].sort((a, b) => b.settleSeconds - a.settleSeconds);
  for (const { name } of queue) records.set(name, Promise.withResolvers());
  const player = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { promise, resolve, reject } = records.get(next.name) ?? Promise.withResolvers();
      promise.catch(() => undefined);
      await play(on, source, next).then(resolve, reject);
    }
  };
  for (let count = 0; count < AT_ONCE; count++) void player();
});

afterAll(async () => {
  await api?.close();
  await node?.stop();
});

/** Has the node run a scenario's pod, and returns where its record differs from the reference's. */
async function play(
  node: TestNode,
  api: ApiSource,
  { name, pod, deletes, settleSeconds, golden }: Scenario,
): Promise<string[]> {
  const namespace = `s-${name}`;
  const { uid } = api.create(pod, namespace).metadata;
  const scope = scopeOf(node, namespace);
  const status = () => statusRecord(node.watch.pod(uid)?.status, scope);
  const told = () => ({ status: status(), events: eventRecord(node, uid, scope) });
  const only = (fields: readonly string[]) => (line: string) => fields.some((field) => line.startsWith(`.${field}`));
  const compare = (record: object) => recordDifferences(golden, record, exceptions);

  const awaited = deletes ? ['status'] : ['status', 'events'];
  let looked: readonly unknown[] = [];
  const hasSettled = () => {
    const now = [node.watch.pod(uid)?.status, node.watch.messages.podEvents(uid).length];
    // Every message of the node brings a look, and a comparison takes time.
    if (now.every((part, index) => part === looked[index])) return undefined;
    looked = now;
    return compare(told()).filter(only(awaited)).length === 0 ? true : undefined;
  };
  await node.watch.until(name, hasSettled, settleSeconds * PATIENCE * 1000).catch(() => undefined);
  const record = { ...told(), cri: await runtimeRecord(node, uid, scope) };
  if (!deletes) {
    await api.delete(uid, 0);
    return compare(record);
  }
  const began = performance.now();
  await api.delete(uid);
  const grace = node.watch.pod(uid)?.work?.pod?.spec.terminationGracePeriodSeconds ?? 30;
  const inTime = performance.now() - began < (grace + 5) * 1000;
  return compare({ ...record, events: eventRecord(node, uid, scope), deleted_within_grace: inTime });
}

test.each(scenarios.map(({ name }) => name))('%s is as the reference has it', async (name) => {
  expect(await records.get(name)?.promise).toEqual([]);
});
