import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cgroupMounts, cgroupOf } from '@kubus/cgroup';
import { parseCpuSet } from '@kubus/exclusive';
import { type RunningCommand, poll } from '@kubus/harness';
import { TestApiServer, isReady } from '@kubus/kube-fixture';
import { kernelDefaults, runCommand } from '@kubus/launcher';
import { readFile, readdir, rm, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { KubeletMachine } from '../src/kubelet-machine.ts';
import { container, pod } from '../src/pods.ts';

let machine: KubeletMachine;
let flags: string[];
let agent: RunningCommand;

const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

beforeAll(async () => {
  machine = await KubeletMachine.start();
  const { folder } = machine;
  const own = await machine.configure({
    clusterDomain: 'of.the.file',
    maxPods: 5,
    kernelMemcgNotification: true,
    kubeletCgroups: `${machine.runtime.dir.cgroupRoot}/agent`,
    featureGates: { QOSReserved: true },
    qosReserved: { memory: '50%' },
    authentication: { webhook: { enabled: false }, anonymous: { enabled: true } },
    authorization: { mode: 'AlwaysAllow' },
  });
  await machine.write('conf.d/10-cluster.conf', { ...head, clusterDomain: 'of.the.drop.in', maxPods: 6 });
  await machine.write('conf.d/README', 'no configuration');
  await machine.write('manifests/hello.yaml', pod('hello'));
  flags = [
    ...own,
    `--config-dir=${join(folder, 'conf.d')}`,
    '--hostname-override=Machine-1',
    '--max-pods=7',
    `--cni-conf-dir=${join(folder, 'networks')}`,
  ];
});
afterAll(() => machine.remove());

/** The log, line by line. */
function lines({ written }: RunningCommand): string[] {
  return written.stderr.trimEnd().split('\n');
}

test('runs the static pods of the configuration, and notifies the service manager', async () => {
  agent = machine.kubelet(...flags, '--runtime-handler=', '-v=4');
  await machine.notified(agent, 'READY=1');
  expect(machine.notifications(agent.child.pid)[0]).toMatch(/^EXTEND_TIMEOUT_USEC=\d+$/);
  await machine.containerOf('hello-machine-1');
  await machine.notified(agent, 'WATCHDOG=1');

  const own = join(machine.folder, 'kubelet/kubus/config');
  const node = JSON.parse(await readFile(join(own, 'node.json'), 'utf8')) as object;
  expect(node).toMatchObject({
    node: 'machine-1',
    nodeIps: ['10.88.0.1'],
    dns: { domain: 'of.the.drop.in' },
    pods: { max: 7, logs: join(machine.folder, 'logs/pods'), logLinks: '/var/log/containers' },
  });
  const curl = ['curl', '--silent', '--insecure'] as const;
  expect(await runCommand(machine.runtime.inside([...curl, 'http://127.0.0.1:10248/healthz']))).toBe('ok');
  const configz = await runCommand(machine.runtime.inside([...curl, 'https://127.0.0.1:10250/configz']));
  const { kubeletconfig } = JSON.parse(configz) as { kubeletconfig: object };
  expect(kubeletconfig).toMatchObject({ ...head, clusterDomain: 'of.the.drop.in', maxPods: 7 });
});

test('runs in its own cgroup, reserves memory for higher classes, and gives the kernel its settings', async () => {
  const { cgroupRoot } = machine.runtime.dir;
  expect(await cgroupOf(agent.child.pid ?? NaN, await cgroupMounts())).toBe(`${cgroupRoot}/agent`);
  const curl = [
    'curl',
    '--silent',
    '--insecure',
    'https://127.0.0.1:10250/stats/summary?only_cpu_and_memory=true',
  ] as const;
  const summary = JSON.parse(await runCommand(machine.runtime.inside(curl))) as {
    node: { systemContainers: { name: string; cpu: { usageCoreNanoSeconds: number } }[] };
  };
  const [kubelet, pods] = summary.node.systemContainers;
  expect([kubelet?.name, pods?.name]).toEqual(['kubelet', 'pods']);
  expect(kubelet?.cpu.usageCoreNanoSeconds).toBeGreaterThan(0);
  const { version, controllers } = await cgroupMounts();
  const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
  const tier = join(controllers.get('memory') ?? '', cgroupRoot, 'kubepods/burstable', file);
  expect(Number(await readFile(tier, 'utf8'))).toBeLessThanOrEqual(totalmem());
  for (const [name, value] of Object.entries(kernelDefaults)) {
    expect(Number(await readFile(join('/proc/sys', name), 'utf8'))).toBe(value);
  }
});

test('writes every line as klog does, those of the services too', () => {
  const klog = /^[IWE]\d{4} \d{2}:\d{2}:\d{2}\.\d{6} +\d+ [a-z-]+:\d+\] ".*"( [\w.]+=\S.*)?$/;
  const all = lines(agent);
  expect(all.filter((line) => !klog.test(line))).toEqual([]);
  // With cgroup v1 the kernel is asked, and it answers for the machine and for all pods.
  expect(all.filter((line) => line.includes('the kernel does not say when memory is short'))).toEqual([]);
  for (const source of ['kubelet', 'nats-server', 'cri-bridge', 'pod-workers', 'config-sources']) {
    expect(all.some((line) => line.includes(` ${source}:0] `))).toBe(true);
  }
});

test('ends cleanly at SIGTERM; restarted it continues with the same container, and runs pods through cni-bridge', async () => {
  const container = await machine.containerOf('hello-machine-1');
  expect((await agent.end()).code).toBe(0);
  expect(machine.notifications(agent.child.pid).at(-1)).toBe('STOPPING=1');
  expect(await machine.containerOf('hello-machine-1')).toBe(container);

  const again = machine.kubelet(...flags, '--logging-format=json');
  await machine.notified(again, 'READY=1');
  await machine.write('manifests/bridged.yaml', pod('bridged'));
  await machine.containerOf('bridged-machine-1');
  expect(await machine.containerOf('hello-machine-1')).toBe(container);
  const entries = lines(again).map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const entry of entries) {
    expect(entry).toMatchObject({ ts: expect.any(Number), caller: expect.any(String), msg: expect.any(String) });
  }
  expect(entries).toContainEqual(expect.objectContaining({ network: 'set up by cni-bridge, runtime handler kubus' }));

  const second = await machine.kubelet(...flags).outcome;
  expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('is locked by another process') });

  // When it is killed, it leaves its services behind, which the next one replaces.
  await again.end('SIGKILL');
  const third = machine.kubelet(...flags);
  await machine.notified(third, 'READY=1');
  expect(await machine.containerOf('hello-machine-1')).toBe(container);
  expect((await third.end('SIGINT')).code).toBe(0);
});

/** What the kernel lets the process of a container use: a file of the cgroup controller `cpuset` or `cpu`. */
async function cgroupFile(controller: 'cpu' | 'cpuset', containerId: string, file: string): Promise<string> {
  const { controllers } = await cgroupMounts();
  const pods = join(controllers.get(controller) ?? '', machine.runtime.dir.cgroupRoot, 'kubepods');
  const path = (await readdir(pods, { recursive: true })).find((name) => name.endsWith(containerId));
  return (await readFile(join(pods, path ?? containerId, file), 'utf8')).trim();
}

test('gives a container CPUs of its own, which other containers may not use as long as it is there', async () => {
  const { version } = await cgroupMounts();
  const whole = { cpu: '1', memory: '32Mi' };
  const limits = container({ name: 'main', resources: { requests: whole, limits: whole } });
  const manifest = await machine.write('manifests/pinned.yaml', pod('pinned', { containers: [limits] }));
  const agent = machine.kubelet(...flags, '--cpu-manager-policy=static', '--reserved-cpus=0');
  await machine.notified(agent, 'READY=1');
  const [pinned, neighbour] = [
    await machine.containerOf('pinned-machine-1'),
    await machine.containerOf('hello-machine-1'),
  ];
  const own = await cgroupFile('cpuset', pinned, 'cpuset.cpus');
  expect(own).toMatch(/^[1-9]\d*$/);
  expect(await cgroupFile('cpu', pinned, version === 1 ? 'cpu.cfs_quota_us' : 'cpu.max')).toMatch(/^(-1|max \d+)$/);
  const cpus = () => cgroupFile('cpuset', neighbour, 'cpuset.cpus').then((text) => parseCpuSet(text) ?? []);
  await poll('the neighbour is on other CPUs', async () => !(await cpus()).includes(Number(own)) || undefined);
  expect(await cpus()).toContain(0);
  await rm(manifest);
  await poll('the neighbour may use all CPUs', async () => (await cpus()).includes(Number(own)) || undefined);
  expect((await agent.end()).code).toBe(0);
  await rm(join(machine.folder, 'kubelet/cpu_manager_state'));
});

test('joins a cluster with a certificate that it has requested, and runs the cluster’s pods', async () => {
  const server = await TestApiServer.start({ approve: () => true });
  try {
    await machine.runtime.reach(server.port);
    const stranger = { username: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', 'system:authenticated'] };
    const kubeconfig = join(machine.folder, 'kubeconfig');
    const agent = machine.kubelet(
      ...flags,
      `--bootstrap-kubeconfig=${await server.kubeconfig(stranger, 'token')}`,
      `--kubeconfig=${kubeconfig}`,
      '--node-labels=rack=7',
    );
    await machine.notified(agent, 'READY=1');
    const { metadata } = await server.waitFor({ kind: 'Node', name: 'machine-1' }, isReady);
    expect(metadata.labels).toMatchObject({ rack: '7' });
    expect((await stat(kubeconfig)).mode & 0o777).toBe(0o600);
    const bound = pod('bound') as { spec: object };
    server.create({ ...bound, spec: { ...bound.spec, nodeName: 'machine-1' } });
    const name = { kind: 'Pod', name: 'bound' };
    const running = await server.waitFor(name, isReady);
    expect(running.status).toMatchObject({ phase: 'Running', hostIP: '10.88.0.1' });
    await server.waitFor({ kind: 'Pod', name: 'hello-machine-1' }, isReady);
    server.delete(name);
    await server.waitGone(name);
    expect((await agent.end()).code).toBe(0);
    const users = new Set(server.requests.filter(({ path }) => path.includes('/pods')).map(({ user }) => user));
    expect([...users]).toEqual(['system:node:machine-1']);
  } finally {
    await server.close();
  }
});

test.each([
  [['--max-pods=many'], 'invalid argument \\"many\\" for \\"--max-pods\\" flag'],
  [['--nonsense'], 'unknown flag: --nonsense'],
  [['--cpu-manager-policy=dynamic'], 'unknown policy: \\"dynamic\\"'],
  [['--container-runtime-endpoint=unix:///nowhere'], 'validate CRI v1 runtime API for endpoint \\"unix:///nowhere\\"'],
])('%j is one line and exit code 1', async (wrong, problem) => {
  const { code, stderr } = await machine.kubelet(...flags, ...wrong).outcome;
  expect(code).toBe(1);
  const errors = stderr.split('\n').filter((line) => line.startsWith('E'));
  expect(errors).toEqual([expect.stringContaining('"command failed" err="')]);
  expect(errors[0]).toContain(problem);
});

test('a wrong field is named with its file', async () => {
  const path = await machine.write('wrong.yaml', { ...head, maxPod: 1 });
  const { code, stderr } = await machine.kubelet(`--config=${path}`).outcome;
  expect(code).toBe(1);
  expect(stderr).toContain(`path: ${path}, error: strict decoding error: unknown field \\"maxPod\\"`);
});
