// A private node with a Kubernetes API of its own, as a user has it: kubectl applies a manifest, looks, and removes it.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type TestNode, poll, startNode } from '@kubus/harness';
import { Cluster, isReady } from '@kubus/kube-fixture';
import { busyboxReference } from '@kubus/node-images';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Said, kubectl } from '../src/cluster-node.ts';
import { commandsIn, run } from '../src/kubectl-transcript.ts';

/** The commands of the transcript, and the kubectl that printed it. */
const transcript = join(import.meta.dirname, 'reference/kubectl.jsonl');
const transcriptOf = /^Client Version: v1\.32\./;
const shop = join(import.meta.dirname, '../../examples/kubectl/shop.yaml');
const WEB = { kind: 'Pod', namespace: 'shop', name: 'web' };

let node: TestNode;
let kubeconfig: string;
let api: Cluster;

beforeAll(async () => {
  const hello = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'hello' } },
    spec: { containers: [{ name: 'main', image: busyboxReference, command: ['sleep', '3600'] }] },
  };
  node = await startNode({ api: true, manifests: { 'hello.json': hello } });
  kubeconfig = (await node.kubus('kubeconfig')).stdout.trim();
  api = Cluster.open(kubeconfig);
});
afterAll(() => node.stop());

async function said(...args: string[]): Promise<Said> {
  return kubectl({ kubeconfig, server: undefined }, args);
}

test('kubectl applies a manifest, and the node runs it', async () => {
  await api.waitFor({ kind: 'Node', name: node.name }, isReady);
  expect((await stat(kubeconfig)).mode & 0o777).toBe(0o600);
  const applied = await said('apply', '-f', shop);
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining('pod/web created') });
  const again = await said('apply', '--server-side', '-f', shop);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('pod/web serverside-applied') });
  const { metadata } = await api.waitFor(WEB, isReady);
  expect((await said('-n', 'shop', 'logs', 'web', '-c', 'server')).stdout).toBe('hello\n');
  const read = await said(
    '-n',
    'shop',
    'exec',
    'web',
    '-c',
    'server',
    '--',
    'cat',
    '/config/greeting',
    '/secrets/password',
  );
  expect(read.stdout).toBe('helloopen-sesame');
  const { stdout } = await said('-n', 'shop', 'get', 'pods', '--no-headers');
  expect(stdout).toMatch(/^web +2\/2 +Running +0 +\d+s\n$/);
  const mirrors = await said('get', 'pods', '--no-headers');
  expect(mirrors.stdout).toContain(`hello-${node.name}`);
  const { stdout: events } = await said('-n', 'shop', 'get', 'events', '-o', 'jsonpath={.items[*].reason}');
  expect(events).toContain('Scheduled');
  // The service is killed under the pod, and nothing notices; "up" ends when the API serves again.
  await node.kill('kube-api-0');
  expect(await node.kubus('up')).toMatchObject({ code: 0 });
  expect(await api.get(WEB)).toMatchObject({
    metadata: { uid: metadata.uid },
    status: { containerStatuses: [{ restartCount: 0 }] },
  });
});

test('a namespace goes with its pods, and a wrong manifest is refused by field', async () => {
  expect((await said('delete', 'namespace', 'shop')).code).toBe(0);
  expect(await api.get({ kind: 'Namespace', name: 'shop' })).toBeUndefined();
  const bad = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bad' }, spec: { containers: [] } };
  const file = join(node.folder, 'bad.json');
  await writeFile(file, JSON.stringify(bad));
  expect((await said('apply', '-f', file)).stderr).toContain('spec.containers: Required value');
});

test('a manifest is deleted with its namespace, and what needs a cluster is said to', async () => {
  expect((await said('apply', '-f', shop)).code).toBe(0);
  await api.waitFor(WEB, isReady);
  expect(await said('delete', '-f', shop)).toMatchObject({ code: 0, stderr: '' });
  expect(await api.get({ kind: 'Namespace', name: 'shop' })).toBeUndefined();
  const needs = /others need a cluster, see docs\/tasks\/join-a-cluster.md/;
  expect((await node.kubus('kubectl', 'get', 'deployments')).stderr).toMatch(needs);
  expect((await node.kubus('kubectl', 'get', 'pod', 'none')).stderr).not.toMatch(needs);
});

/** A client of the API in a pod, with what every pod has. It needs a program that speaks TLS: the machine's own. */
const CLIENT = `
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, CA: ca, TOKEN, NAMESPACE } = process.env;
const path = '/api/v1/namespaces/' + NAMESPACE + '/pods';
const headers = { authorization: 'Bearer ' + TOKEN };
require('node:https').get({ host, port, ca, path, headers }, (answer) => answer.pipe(process.stdout));
`;

/** What the API answers to a pod that lists the pods of its namespace. */
async function listedByPod(name: string): Promise<unknown> {
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
  const script = `TOKEN=$(cat ${folder}/token) CA=$(cat ${folder}/ca.crt) NAMESPACE=$(cat ${folder}/namespace) exec chroot /host "$@"`;
  await api.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' } },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          ...{ name: 'main', image: busyboxReference },
          command: ['sh', '-c', script, 'sh', process.execPath, '-e', CLIENT],
          volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }],
        },
      ],
      volumes: [{ name: 'host', hostPath: { path: '/' } }],
    },
  });
  const pod = { kind: 'Pod', namespace: 'default', name };
  await api.waitFor(pod, ({ status }) => status?.['phase'] === 'Succeeded');
  const { stdout } = await said('logs', name);
  await api.delete(pod, { gracePeriodSeconds: 0 });
  return JSON.parse(stdout);
}

test('a pod reaches the API as its service account, with what a role grants that', async () => {
  expect(await listedByPod('unbound')).toMatchObject({
    code: 403,
    message: expect.stringMatching(/^pods is forbidden: User "system:serviceaccount:default:default" cannot list/),
  });
  await said('create', 'rolebinding', 'look', '--clusterrole=view', '--serviceaccount=default:default');
  expect(await listedByPod('bound')).toMatchObject({
    kind: 'PodList',
    items: expect.arrayContaining([expect.objectContaining({ metadata: expect.objectContaining({ name: 'bound' }) })]),
  });
  const { stdout } = await said('get', 'rolebindings', '-o', 'wide', '--no-headers');
  expect(stdout).toMatch(/^look +ClusterRole\/view +\S+ +default\/default\s*$/);
});

test('pods find services and pods by their names, and what is of other networks at the machine', async () => {
  const { stdout: status } = await node.kubus('status');
  expect(status).toMatch(/^dns {6}10\.96\.0\.10: names of services and pods in cluster\.local/m);
  const container = { name: 'main', image: busyboxReference, command: ['sleep', '3600'] };
  const ports = [{ name: 'web', port: 80 }];
  const metadata = { name: 'named', namespace: 'default' };
  await api.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, labels: { app: 'named' } } },
    spec: { hostname: 'first', subdomain: 'named', containers: [container] },
  });
  const spec = { clusterIP: 'None', selector: { app: 'named' }, ports };
  await api.create({ apiVersion: 'v1', kind: 'Service', metadata, spec });
  await api.create({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { ...metadata, name: 'outside' } },
    spec: { type: 'ExternalName', externalName: 'name.invalid' },
  });
  const pod = await api.waitFor({ kind: 'Pod', ...metadata }, isReady);
  const ip = pod.status?.['podIP'] as string;
  const lookUp = async (...args: string[]) => (await said('exec', 'named', '--', 'nslookup', ...args)).stdout;
  const address = new RegExp(`^Address:\\s+${ip.replaceAll('.', '\\.')}$`, 'm');
  expect(await lookUp('-type=a', 'named.default.svc.cluster.local')).toMatch(address);
  expect(await lookUp('-type=a', 'first.named.default.svc.cluster.local')).toMatch(address);
  expect(await lookUp('-type=a', `${ip.replaceAll('.', '-')}.default.pod.cluster.local`)).toMatch(address);
  expect(await lookUp('-type=a', 'kubernetes.default.svc.cluster.local')).toMatch(/^Address:\s+10\.96\.0\.1$/m);
  expect(await lookUp('-type=srv', '_web._tcp.named.default.svc.cluster.local')).toContain(
    '80 first.named.default.svc.cluster.local',
  );
  expect(await lookUp(ip)).toContain('first.named.default.svc.cluster.local');
  expect(await lookUp('-type=a', 'none.default.svc.cluster.local')).toContain('NXDOMAIN');
  // The node of the tests reaches no other network.
  expect(await lookUp('-type=a', 'outside.default.svc.cluster.local')).toMatch(/SERVFAIL|NXDOMAIN|name\.invalid/);
  // The search list of the pod's own namespace.
  const searched = await said('exec', 'named', '--', 'ping', '-c', '1', '-W', '1', 'named');
  expect(searched.stdout).toContain(`PING named (${ip})`);
  await api.delete({ kind: 'Pod', ...metadata }, { gracePeriodSeconds: 0 });
});

test('kubectl says who one is and what one may do', async () => {
  expect((await said('auth', 'whoami')).stdout).toMatch(/^Username +kubernetes-admin$/m);
  expect(await said('auth', 'can-i', 'delete', 'pods')).toMatchObject({ code: 0, stdout: 'yes\n' });
  const as = ['--as', 'system:serviceaccount:default:nobody'];
  expect(await said('auth', 'can-i', 'list', 'pods', ...as)).toMatchObject({ code: 1, stdout: 'no\n' });
  const { stdout } = await said('auth', 'can-i', '--list', ...as);
  expect(stdout).toMatch(/^selfsubjectreviews\.authentication\.k8s\.io +\[\] +\[\] +\[create\]$/m);
});

test('kubectl says what the node, its pods and their containers use', async () => {
  const mirror = `hello-${node.name}`;
  const top = async (...what: string[]) => (await said('top', ...what, '--no-headers')).stdout;
  expect(await top('node')).toMatch(new RegExp(`^${node.name} +\\d+m +\\d+% +\\d+Mi +\\d+% *$`, 'm'));
  // A container of less than 10 s has no figures yet.
  const shown = await poll('the pod has figures', async () => (await top('pod', mirror, '--containers')) || undefined);
  expect(shown).toMatch(new RegExp(`^${mirror} +main +\\d+m +\\d+Mi *$`, 'm'));
  expect(await top('pod', '-A', '--sum')).toMatch(/^ +\d+m +\d+Mi *$/m);
});

test('cordon keeps pods away, with words', async () => {
  expect((await said('cordon', node.name)).code).toBe(0);
  expect((await said('run', 'late', '--image', busyboxReference, '--', 'sleep', '3600')).code).toBe(0);
  const late = { kind: 'Pod', name: 'late' };
  await api.waitFor(late, ({ status }) => JSON.stringify(status).includes('1 node(s) were unschedulable'));
  expect((await said('uncordon', node.name)).code).toBe(0);
  await api.waitFor(late, isReady);
  expect((await said('drain', node.name, '--force', '--grace-period=1')).code).toBe(0);
  await api.waitGone(late);
  expect((await said('uncordon', node.name)).code).toBe(0);
});

test('kubectl prints what it prints with the reference, but for differences that have a reason', async () => {
  const { stdout: version } = await said('version', '--client');
  // Another kubectl has other words of its own.
  if (!transcriptOf.test(version)) return;
  const place = { kubectl: 'kubectl', kubeconfig, node: node.name };
  const differences: unknown[] = [];
  for (const command of await commandsIn(transcript)) {
    const printed = await run(command, place);
    if (command.because === undefined && !isDeepStrictEqual(printed, command.printed)) {
      differences.push({ args: command.args, reference: command.printed, here: printed });
    }
  }
  expect(differences).toEqual([]);
});
