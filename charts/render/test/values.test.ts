import { expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Values,
  chartFolder,
  coalesce,
  documentedValues,
  renderChart,
  valuesTable,
  withTable,
} from '../src/index.ts';
import { chart } from './rendered-pod.ts';

test.each<[Values, string]>([
  [{ nodes: {} }, 'nodes: the chart has no such value'],
  [{ image: { repo: 'x' } }, 'image.repo: the chart has no such value'],
  [{ image: { repository: '' } }, 'image.repository: '],
  [{ image: { pullPolicy: 'Sometimes' } }, 'image.pullPolicy: '],
  [{ image: { digest: 'sha256:abc' } }, 'image.digest: '],
  [{ node: { nameSuffix: '' } }, 'node.nameSuffix: '],
  [{ node: { nameSuffix: '_x' } }, 'node.nameSuffix: '],
  [{ node: { folder: '../etc' } }, 'node.folder: '],
  [{ node: { folder: 'a'.repeat(33) } }, 'node.folder: '],
  [{ node: { logLevel: 'loud' } }, 'node.logLevel: '],
  [{ node: { httpPort: '10300' } }, 'node.httpPort: '],
  [{ node: { taints: [{ key: 'a', effect: 'Never' }] } }, 'node.taints.0.effect: '],
  [{ manifests: { hostPath: 'relative' } }, 'manifests.hostPath: '],
  [{ cluster: { mode: 'token' } }, 'cluster.mode: '],
  [{ cluster: { mode: 'kubeconfig' } }, 'cluster.kubeconfigSecret: '],
  [{ cluster: { mode: 'bootstrap' } }, 'cluster.kubeconfigSecret: '],
  [{ cluster: { server: 'http://api' } }, 'cluster.server: '],
  [{ nodeApi: { port: 70_000 } }, 'nodeApi.port: '],
  [{ nats: { enabled: false } }, 'nats.external.url: '],
  [{ nats: { enabled: false, external: { url: 'nats://user@host' } } }, 'nats.external.url: '],
  [{ nats: { extraArgs: 'x' } }, 'nats.extraArgs: '],
  [{ runtime: { enabled: false } }, 'runtime.socket: '],
  [{ runtime: { enabled: 'no' } }, 'runtime.enabled: '],
  [{ services: { kubelet: { enabled: true } } }, 'services.kubelet: the chart has no such value'],
  [{ services: { prober: { instances: 4 } } }, 'services.prober.instances: '],
  [{ services: { 'sync-loop': { instances: 2 } } }, 'services.sync-loop.instances: the chart has no such value'],
  [{ services: { launcher: { logLevel: 'loud' } } }, 'services.launcher.logLevel: '],
  [{ services: { prober: { extraEnv: [{ value: 'x' }] } } }, 'services.prober.extraEnv.0: '],
  [{ serviceDefaults: { resources: { limits: { memory: 'much' } } } }, 'serviceDefaults.resources.limits.memory: '],
  [{ services: { 'volume-manager': { hostPaths: ['srv'] } } }, 'services.volume-manager.hostPaths.0: '],
  [{ placement: 'together' }, 'placement: '],
  [{ placement: 'groups', groups: { a: ['prober', 'launcher'] } }, 'groups.a.1: '],
  [{ placement: 'groups', groups: { a: ['prober'] } }, 'groups.a: '],
  [{ placement: 'groups', groups: { 'a-b': ['prober', 'sync-loop'] } }, 'groups.a-b: the chart has no such value'],
  [{ updateStrategy: { type: 'Recreate' } }, 'updateStrategy'],
  [{ updateStrategy: { rollingUpdate: { maxSurge: 1 } } }, 'updateStrategy.rollingUpdate.maxSurge: '],
  [{ tolerations: [{ operator: 'Like' }] }, 'tolerations.0.operator: '],
  [{ podMonitor: { interval: 'often' } }, 'podMonitor.interval: '],
  [{ networkPolicy: { apiFrom: {} } }, 'networkPolicy.apiFrom: '],
  [{ terminationGracePeriodSeconds: 0 }, 'terminationGracePeriodSeconds: '],
])('%j is refused with its name', async (values, message) => {
  await expect(renderChart(chart, { values })).rejects.toMatchObject({
    code: 'BadValues',
    message: expect.stringContaining(message) as unknown,
  });
});

test.each<[Values, string]>([
  [{ podMonitor: { enabled: true } }, "podMonitor.enabled needs the node's API"],
  [{ node: { config: '- a list' } }, 'node.config: '],
  [{ placement: 'groups' }, 'groups: placement is groups, and there is none'],
  [
    { placement: 'groups', groups: { a: ['prober', 'sync-loop'], b: ['prober', 'node-api'] } },
    'groups.b: prober is in two groups',
  ],
  [{ placement: 'hosted', services: { prober: { enabled: false } } }, 'services.prober.enabled: '],
  [{ placement: 'hosted', services: { prober: { logLevel: 'debug' } } }, 'services.prober.logLevel: '],
])('%j is refused by the templates', async (values, message) => {
  await expect(renderChart(chart, { values })).rejects.toMatchObject({
    code: 'BadTemplate',
    message: expect.stringContaining(message) as unknown,
  });
});

test('every value is documented, and the table of the README is generated from it', async () => {
  const text = await readFile(join(chartFolder, 'values.yaml'), 'utf8');
  const readme = await readFile(join(chartFolder, 'README.md'), 'utf8');
  expect(readme).toBe(withTable(readme, valuesTable(documentedValues(text))));
});

test('an undocumented value is reported', () => {
  expect(documentedValues('# -- Said.\na:\n  b: 1\n')).toEqual([{ path: 'a', value: '{"b":1}', text: 'Said.' }]);
  expect(() => documentedValues('a:\n  # -- Said.\n  b: 1\n  c: 2\n')).toThrow('a.c has no description');
});

test('the schema has every value', () => {
  const schema = chart.schema.schema as { properties: object };
  expect(
    Object.keys(schema.properties)
      .filter((name) => name !== 'global')
      .sort(),
  ).toEqual(Object.keys(chart.defaults).sort());
});

test('given values are merged into the defaults, and null removes one', () => {
  expect(coalesce({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: null, e: 3 }, d: [2] })).toEqual({
    a: { c: 2, e: 3 },
    d: [2],
  });
});
