// Resource claims on a real node: the example driver, the runtime, and node-agent killed between the preparation and the start.
import { afterAll, expect, test } from '@jest/globals';
import { type TestNode, isReady } from '@kubus/harness';
import type { Cluster } from '@kubus/kube-fixture';
import { callPlugin } from '@kubus/node-plugins';
import { PodResourcesListerService } from '@kubus/proto/pod-resources-grpc';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedClusterNode } from '../src/cluster-node.ts';
import { ClusterPods } from '../src/cluster-pods.ts';
import { eventReasons } from '../src/pod-facts.ts';
import { container, pod } from '../src/pods.ts';

const DRIVER = 'e2e.devices.test';
const PROGRAM = new URL('../../examples/dra/driver.ts', import.meta.url).pathname;

let node: TestNode;
let cluster: Cluster;
let pods: ClusterPods;
let driver: ChildProcess | undefined;
let kubeconfig: string;
/** Since 1.7 containerd applies CDI devices; it reads the machine's folder. */
let appliesCdi: boolean;
const folder = mkdtempSync(join(tmpdir(), 'kubus-e2e-claims-'));

// It has its sockets in a folder of the node: it is ended before the node.
afterAll(async () => {
  await endDriver();
  rmSync(folder, { recursive: true });
});
sharedClusterNode({}, async (parts) => {
  ({ node } = parts);
  cluster = parts.cluster.api;
  pods = new ClusterPods(parts);
  kubeconfig = await parts.cluster.nodeKubeconfig(node.name);
  const { runtimeVersion = '' } = await node.cri('Version', {});
  const [major = 0, minor = 0] = runtimeVersion.replace(/^v/, '').split('.').map(Number);
  appliesCdi = major > 1 || minor > 6;
  await startDriver();
});

async function startDriver(): Promise<void> {
  const args = ['--name', DRIVER, '--node', node.name, '--kubeconfig', kubeconfig, '--root', node.dir.pods];
  const cdi = appliesCdi ? '/var/run/cdi' : folder;
  const started = spawn(process.execPath, [PROGRAM, ...args, '--cdi', cdi], { stdio: ['ignore', 'pipe', 'inherit'] });
  driver = started;
  let text = '';
  for await (const chunk of started.stdout) {
    text += String(chunk);
    if (/^registered$/m.test(text)) return;
  }
  throw new Error(`the driver was not registered: ${text}`);
}

async function endDriver(): Promise<void> {
  if (driver === undefined || driver.exitCode !== null || driver.signalCode !== null) return;
  const ended = once(driver, 'exit');
  driver.kill('SIGKILL');
  await ended;
}

function books() {
  const text = readFileSync(join(node.dir.pods, 'plugins', DRIVER, 'prepared.json'), 'utf8');
  const { counts, claims } = JSON.parse(text) as { counts: object; claims: object };
  return { ...counts, claims: Object.keys(claims) };
}

/** What the pod's container has of its claim, in the pod resources API. */
async function listed(podName: string): Promise<readonly string[]> {
  const callee = { socket: join(node.dir.pods, 'pod-resources', 'kubelet.sock'), limitMs: 10_000 };
  const request = { podName, podNamespace: 'default' };
  const { podResources } = await callPlugin(callee, PodResourcesListerService.get, request);
  const claims = (podResources?.containers ?? []).flatMap(({ dynamicResources }) => dynamicResources);
  return claims.flatMap(({ claimResources }) =>
    claimResources.flatMap((one) => one.cdiDevices.map(({ name }) => name)),
  );
}

test('a pod waits for its claim, gets its device through restarts of agent and driver, and leaves nothing', async () => {
  const claim = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: { name: 'one', namespace: 'default' },
  };
  const { uid } = (await cluster.create({ ...claim, spec: {} })).metadata;
  const using = pod('user', {
    resourceClaims: [{ name: 'device', resourceClaimName: 'one' }],
    containers: [container({ name: 'main', resources: { claims: [{ name: 'device' }] } })],
  });
  await pods.create(using);
  const { ref } = await node.watch.waitForPod('user', (one) =>
    eventReasons(node, one).includes('Warning FailedPrepareDynamicResources'),
  );
  const results = [{ driver: DRIVER, request: 'r', pool: node.name, device: 'device-0' }];
  const reservedFor = [{ resource: 'pods', name: 'user', uid: ref.uid }];
  const status = { allocation: { devices: { results } }, reservedFor };
  await cluster.patch({ kind: 'ResourceClaim', name: 'one' }, { status }, { subresource: 'status' });
  await node.watch.waitForPod('user', isReady);
  const name = `${DRIVER}/claim=${uid}-device-0`;
  expect(await listed('user')).toEqual([name]);
  expect((await node.kubus('describe', 'pod', 'user')).stdout).toContain(name);
  if (appliesCdi) expect(await pods.inside('user', 'main', 'echo $DEVICE_DEVICE_0')).toEqual([uid]);
  expect(books()).toEqual({ prepared: 1, unprepared: 0, claims: [uid] });

  // The next run of the container starts while the driver is dead, by a new node-agent.
  await endDriver();
  await node.restart('node-agent-0');
  await pods.inside('user', 'main', 'kill 1').catch(() => undefined);
  const again = await node.watch.waitForPod('user', ({ status: now }) => {
    const [main] = now?.containerStatuses ?? [];
    return main?.restartCount === 1 && main.ready;
  });
  await startDriver();
  await pods.remove(again);
  expect(books()).toEqual({ prepared: 1, unprepared: 1, claims: [] });
  expect(readFileSync(join(node.dir.pods, 'dra_manager_state'), 'utf8')).not.toContain(uid);
});
