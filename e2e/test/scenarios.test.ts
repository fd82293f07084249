import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import {
  SCRUBBED_NODE_IP,
  type ScenarioStage,
  checkout,
  playScenario,
  poll,
  prepareScenarios,
  readScenarios,
  scopeOf,
} from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { HANGING_MS } from '@kubus/ports/testing';
import { type ClusterNode, sharedClusterNode } from '../src/cluster-node.ts';
import { recordFailure } from '../src/failure-record.ts';
import { leftoversOfPods } from '../src/leftovers.ts';

/** How long a scenario may take to settle, in milliseconds: one that has settled does not wait. */
const SETTLED_MS = HANGING_MS / 2;
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
  await prepareScenarios(cluster.api);
  const scenarioStage: ScenarioStage = {
    api: cluster.api,
    isTestServer: cluster.server !== undefined,
    nodeName: node.name,
    cri: (method, request) => node.cri(method, request),
    hostFolder: (name) => join(node.folder, name),
    scope: (namespace, folders) => scopeOf(node, namespace, folders),
    settled: (_seconds, signal) => wait(SETTLED_MS, undefined, { signal }).catch(() => undefined),
    clock: () => Promise.resolve(performance.now() / 1000),
  };
  // The longest ones first.
  const queue = [...scenarios].sort((a, b) => b.settleSeconds - a.settleSeconds);
  const player = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const outcome = outcomes.get(next.name);
      outcome?.promise.catch(() => undefined);
      await playScenario(scenarioStage, next).then(outcome?.resolve, outcome?.reject);
    }
  };
  playing = Promise.all(Array.from({ length: AT_ONCE }, player));
});

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
