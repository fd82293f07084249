import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chartFolder, readChart, renderChart } from '@kubus/chart';
import type { Pod, PodSpec } from '@kubus/contracts';
import { type TestNode, isReady, poll, startNode } from '@kubus/harness';
import { TestApiServer, type User } from '@kubus/kube-fixture';
import { chartRules, deniedByRules } from '../src/chart-rules.ts';
import { container, pod } from '../src/pods.ts';

const account: User = {
  username: 'system:serviceaccount:kubus:kubus',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kubus', 'system:authenticated'],
};

let api: TestApiServer;
let node: TestNode;

beforeAll(async () => {
  const values = { cluster: { mode: 'serviceAccount' } };
  const rules = chartRules((await renderChart(await readChart(chartFolder), { values })).manifests);
  api = await TestApiServer.start({
    authorize: (attributes) =>
      attributes.user.username === account.username ? deniedByRules(rules, attributes) : undefined,
  });
  node = await startNode({ kubeconfig: () => api.kubeconfig(account) });
  put('ConfigMap', 'settings', { data: { colour: 'blue' } });
  put('Secret', 'password', { data: { word: Buffer.from('secret').toString('base64') } });
  const spec: Partial<PodSpec> = {
    containers: [
      {
        ...container({ name: 'main' }),
        envFrom: [{ configMapRef: { name: 'settings' } }],
        volumeMounts: [{ name: 'password', mountPath: '/password' }],
      },
    ],
    volumes: [{ name: 'password', secret: { secretName: 'password' } }],
  };
  put('Pod', 'bound', { spec: { ...(pod('bound', spec) as Pod).spec, nodeName: node.name } });
});

afterAll(async () => {
  await (node as TestNode | undefined)?.stop();
  await (api as TestApiServer | undefined)?.close();
});

function put(kind: string, name: string, content: object): void {
  api.create({ apiVersion: 'v1', kind, metadata: { name }, ...content });
}

test('a node with the RBAC rules of the chart’s ServiceAccount has no request refused', async () => {
  await node.writeManifest('static.json', pod('static', { containers: [container({ name: 'main' })] }));
  await node.watch.waitForPod('bound', isReady);
  await node.watch.waitForPod(`static-${node.name}`, isReady);
  const asked = () => api.requests.filter(({ user }) => user === account.username);
  const has = (what: string) =>
    asked().some(
      ({ verb, plural, subresource }) => [verb, plural, subresource].filter((part) => part !== '').join(' ') === what,
    );
  for (const what of ['create pods', 'patch pods status', 'create events', 'create nodes', 'update leases']) {
    await poll(what, () => Promise.resolve(has(what) ? what : undefined));
  }
  expect(
    asked()
      .filter(({ status }) => status === 403)
      .map(({ verb, plural }) => `${verb} ${plural}`),
  ).toEqual([]);
});
