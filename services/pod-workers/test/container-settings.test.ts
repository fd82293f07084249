import { beforeEach, describe, expect, test } from '@jest/globals';
import { ScriptedNode, podOf, runtimeReady } from './scripted-node.ts';

let node: ScriptedNode;

beforeEach(async () => {
  node = new ScriptedNode();
  await node.start();
});

function done(): string[] {
  return node.bridge.done.splice(0);
}

const main = () => node.status('a')?.containerStatuses?.[0];
const config = () => node.bridge.configs.get('main');

describe('a container', () => {
  test('of an image that runs as root is not created when it must not, and has the reason in its status', async () => {
    const pod = podOf('a', {}, { securityContext: { runAsNonRoot: true } });
    await node.work(pod);
    const message = 'container has runAsNonRoot and image will run as root (pod: "pod-a_default(a)", container: main)';
    expect(main()?.state?.waiting).toEqual({ reason: 'CreateContainerConfigError', message });
    expect(node.events('a')).toContain(`Failed: Error: ${message}`);
    expect(done()).toEqual(['RunPodSandbox pod-a/0']);
    node.bridge.imageUser = { uid: { value: '1000' } };
    await node.pass(10_000);
    expect(done()).toEqual(['CreateContainer main/0', 'StartContainer c2']);
    expect(config()?.linux?.securityContext?.runAsUser).toEqual({ value: '1000' });
  });

  test('without a seccomp profile gets the runtime’s if seccompDefault is set', async () => {
    node.kill();
    node.seccomp = { seccompDefault: true, seccompFolder: '/root/seccomp' };
    await node.start();
    await node.work(podOf('a'));
    expect(config()?.linux?.securityContext?.seccomp).toEqual({ profileType: 'RuntimeDefault' });
    const seccompProfile = { type: 'Localhost', localhostProfile: 'own.json' };
    await node.work(podOf('b', { securityContext: { seccompProfile } }));
    const own = { profileType: 'Localhost', localhostRef: '/root/seccomp/own.json' };
    expect(config()?.linux?.securityContext?.seccomp).toEqual(own);
  });

  test('has variables with its pod’s and its node’s addresses and resources', async () => {
    const env = [
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
      { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    ];
    await node.work(podOf('a', {}, { env }));
    const values = config()?.envs?.map(({ key, value = '' }) => [key, Buffer.from(value, 'base64').toString()]);
    expect(values).toEqual([
      ['IP', '10.0.0.2'],
      ['HOST', '192.0.2.1'],
      ['CPUS', '2'],
    ]);
  });

  test('has them with the values of the Node object', async () => {
    const env = [
      { name: 'HOSTS', valueFrom: { fieldRef: { fieldPath: 'status.hostIPs' } } },
      { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    ];
    const addresses = [
      { type: 'Hostname', address: 'node0' },
      { type: 'InternalIP', address: '192.0.2.7' },
      { type: 'InternalIP', address: '2001:db8::7' },
    ];
    node.setClusterNode({ addresses, allocatable: { cpu: '7' } });
    await node.work(podOf('a', {}, { env }));
    const values = config()?.envs?.map(({ key, value = '' }) => [key, Buffer.from(value, 'base64').toString()]);
    expect(values).toEqual([
      ['HOSTS', '192.0.2.7,2001:db8::7'],
      ['CPUS', '7'],
    ]);
    expect(node.status('a')).toMatchObject({
      hostIP: '192.0.2.7',
      hostIPs: [{ ip: '192.0.2.7' }, { ip: '2001:db8::7' }],
    });
  });

  test('with only its log left continues the attempts from it', async () => {
    node.files.indexes.set('main', 4);
    await node.work(podOf('a'));
    expect(done()).toContain('CreateContainer main/5');
  });

  test('is removed with the files of its older runs', async () => {
    await node.work(podOf('a'));
    for (let runs = 1; runs <= 2; runs++) {
      await node.pass(700_000);
      node.bridge.exit('a', 'main', 1);
      await node.work(podOf('a'), { reason: `run ${runs} ended` });
    }
    expect(node.undone).toEqual(['run main/0']);
  });

  test('waits between restarts as the node is configured', async () => {
    node.kill();
    node.crashLoop = { maxRestartPeriodMs: 2_000 };
    await node.start();
    await node.work(podOf('a'));
    for (const reason of ['first', 'second']) {
      await node.pass(500);
      node.bridge.exit('a', 'main', 1);
      await node.work(podOf('a'), { reason });
    }
    expect(main()?.state?.waiting?.message).toMatch(/^back-off 2s /);
  });
});

test('a pod with an invalid sandbox configuration has the reason as an event', async () => {
  await node.work(podOf('a', { hostname: '-'.repeat(64) }));
  expect(done()).toEqual([]);
  expect(node.events('a')).toEqual([
    expect.stringMatching(
      /^FailedCreatePodSandBox: Failed to create pod sandbox: hostname for pod "pod-a" was invalid/,
    ),
  ]);
});

describe('the status of an ended container', () => {
  const end = async (policy: string) => {
    await node.work(podOf('a', { restartPolicy: 'Never' }, { terminationMessagePolicy: policy }));
    node.bridge.exit('a', 'main', 3);
    await node.quiet();
    return main()?.state?.terminated?.message;
  };

  test('contains its termination message from the first time on', async () => {
    node.files.messages.set('main/0', 'disk full');
    expect(await end('File')).toBe('disk full');
    const statuses = node.broker.said.filter(
      ({ subject, data }) => /worker.fact.status/.test(subject) && /exitCode/.test(data),
    );
    expect(statuses.every(({ data }) => data.includes('disk full'))).toBe(true);
    expect(config()?.mounts).toMatchObject([
      { containerPath: '/etc/hosts', hostPath: '/hosts/a' },
      { containerPath: '/dev/termination-log', hostPath: '/messages/a/main/0' },
    ]);
  });

  test('contains the end of its log if configured so and there is no message', async () => {
    node.files.logs.set('/logs/main/0', '2030-01-01T00:00:00.0Z stderr F no such file\n');
    expect(await end('FallbackToLogsOnError')).toBe('no such file\n');
  });

  test('does not wait for a message that cannot be read', async () => {
    node.files.readTerminationLog = () => Promise.reject(new Error('broken'));
    expect(await end('File')).toBeUndefined();
    expect(main()?.state?.terminated?.exitCode).toBe(3);
  });
});

test('a pod that is active for too long fails', async () => {
  const pod = podOf('a', { activeDeadlineSeconds: 30 });
  await node.work(pod);
  done();
  await node.pass(29_999);
  expect(done()).toEqual([]);
  await node.pass(1);
  expect(done()).toEqual(['StopContainer c2 30', 'StopPodSandbox s1']);
  const message = 'Pod was active on the node longer than the specified deadline';
  expect(node.status('a')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded', message });
  expect(node.events('a').filter((text) => text.startsWith('Deadline'))).toEqual([`DeadlineExceeded: ${message}`]);
});

test('a pod that is stopped before it started has failed, and its containers count as ended', async () => {
  const pod = podOf('a', { initContainers: [{ name: 'first', image: 'busybox' }] });
  node.setNetwork(false);
  await node.work(pod);
  const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
  await node.work(deleted);
  expect(node.status('a')).toMatchObject({
    phase: 'Failed',
    initContainerStatuses: [{ state: { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 } } }],
  });
});

describe('a pod’s cgroup', () => {
  test('that cannot be created keeps the pod from starting, with an event', async () => {
    node.cgroupFailure = new Error('no space left');
    await node.work(podOf('a'));
    expect(done()).toEqual([]);
    const message = 'unable to ensure pod container exists: no space left';
    expect(node.events('a')).toContain(`FailedCreatePodContainer: ${message}`);
    node.cgroupFailure = undefined;
    await node.pass(20_000);
    expect(done()[0]).toBe('RunPodSandbox pod-a/0');
  });
});

test('a pod uses the cluster’s DNS with the search domains of its namespace', async () => {
  await node.work(podOf('a'));
  expect(node.bridge.sandboxConfig?.dnsConfig).toEqual({
    servers: ['192.0.2.53'],
    searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
    options: ['ndots:5'],
  });
});

describe('a pod with a user namespace', () => {
  const pod = podOf('a', { hostUsers: false });
  const ids = { hostId: 131_072, length: 65_536 };
  const refused = (reason: string) => `FailedCreatePodSandBox: Failed to create pod sandbox: ${reason}`;

  test('is refused while the runtime does not support it, and then created with its IDs', async () => {
    await node.work(pod, { userNamespace: ids });
    const reason = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    expect([node.events('a'), done()]).toEqual([[refused(reason)], []]);
    node.setRuntime({ ...runtimeReady, handlers: { '': { userNamespaces: true } } });
    await node.pass(15_000);
    expect(done()).toEqual(['RunPodSandbox pod-a/0', 'CreateContainer main/0', 'StartContainer c2']);
    const mapping = [{ ...ids, containerId: 0 }];
    expect(config()?.linux?.securityContext?.namespaceOptions?.usernsOptions).toEqual({
      mode: 'POD',
      uids: mapping,
      gids: mapping,
    });
    const mounts = config()?.mounts ?? [];
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual(['/etc/hosts', '/dev/termination-log']);
    for (const mount of mounts) expect(mount).toMatchObject({ uidMappings: mapping, gidMappings: mapping });
  });

  test('waits for IDs when none are free', async () => {
    node.setRuntime({ ...runtimeReady, handlers: { '': { userNamespaces: true } } });
    await node.work(pod);
    const reason = 'create user namespace: could not find an empty slot to allocate a user namespace';
    expect([node.events('a'), done()]).toEqual([[refused(reason)], []]);
    await node.work(pod, { userNamespace: ids });
    expect(done()).toContain('RunPodSandbox pod-a/0');
  });
});
