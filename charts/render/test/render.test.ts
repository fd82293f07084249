import { describe, expect, test } from '@jest/globals';
import { containerConfig, containerDir } from '@kubus/launcher';
import { parse } from 'yaml';
import { type Manifest, type Values, wrongFields } from '../src/index.ts';
import { matrix } from './matrix.ts';
import { chart, containerOf, render, renderOverlay, renderPod } from './rendered-pod.ts';

const kindsOf = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind).sort();

describe.each(Object.entries(matrix))('%s', (_, values) => {
  test('every manifest is valid by its schema', async () => {
    const { manifests, notes } = await render(values);
    expect(Object.fromEntries(manifests.map((one) => [`${one.kind} ${one.metadata.name}`, wrongFields(one)]))).toEqual(
      Object.fromEntries(manifests.map((one) => [`${one.kind} ${one.metadata.name}`, []])),
    );
    expect(new Set(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size).toBe(manifests.length);
    expect(notes).toContain('rollout status');
  });

  test('every mount has its volume, and no volume is unused', async () => {
    const pod = await renderPod(values);
    const containers = [...pod.initContainers, ...pod.containers];
    expect(new Set(containers.map(({ name }) => name)).size).toBe(containers.length);
    const mounted = new Set(containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name)));
    expect([...mounted].sort()).toEqual(pod.volumes.map(({ name }) => name).sort());
    for (const { volumeMounts } of containers) {
      expect(new Set(volumeMounts.map(({ mountPath }) => mountPath)).size).toBe(volumeMounts.length);
    }
  });

  test('the services accept the configuration, and probes use their addresses', async () => {
    const pod = await renderPod(values);
    const env = Object.fromEntries(containerOf(pod, 'install').env.map(({ name, value = '' }) => [name, value]));
    const config = containerConfig(containerDir('machine-kubus', env['KUBUS_FOLDER'] ?? ''), {
      natsUrl: env['KUBUS_NATS_URL'] ?? '',
      logLevel: env['KUBUS_LOG_LEVEL'] ?? '',
      observatory: env['KUBUS_OBSERVATORY'] === 'true',
      httpPort: Number(env['KUBUS_HTTP_PORT']),
      overlay: { file: 'node.yaml', patch: parse(await renderOverlay(values)) },
    });
    // Pods that have host ports are kept from the machine's loopback in every case.
    expect(config.nodeObject.iptablesUtilChains).toBe(true);
    for (const { name, readinessProbe } of pod.containers) {
      const port = readinessProbe?.httpGet?.port;
      if (port === undefined) continue;
      expect(config.httpPorts[/-\d$|^services/.test(name) ? name : `${name}-0`]).toBe(port);
    }
  });
});

test('the kinds of the manifests', async () => {
  const kinds = async (name: string) => kindsOf((await render(matrix[name])).manifests);
  const always = ['ConfigMap', 'DaemonSet', 'Pod', 'ServiceAccount'];
  const rules = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];
  expect(await kinds('default')).toEqual(always);
  expect(await kinds('a guest by kubeconfig')).toEqual(always);
  expect(await kinds('a guest by bootstrap')).toEqual(always);
  expect(await kinds('a guest by ServiceAccount')).toEqual([...always, ...rules].sort());
  expect(await kinds('a pod monitor')).toEqual([...always, ...rules, 'PodMonitor'].sort());
  expect(await kinds('a network policy')).toEqual([...always, 'NetworkPolicy'].sort());
  expect(await kinds('a ServiceAccount and rules that already exist')).toEqual(['ConfigMap', 'DaemonSet', 'Pod']);
});

test('a release that cleans up does so when helm has deleted the rest, on each machine after its services have ended', async () => {
  const { manifests, notes } = await render(matrix['a release that cleans up']);
  const hooks = manifests.filter(({ metadata }) => metadata.name === 'kubus-uninstall');
  const weights = hooks.map(({ kind, metadata }) => {
    const annotations = metadata['annotations'] as Record<string, string>;
    expect([kind, annotations['helm.sh/hook']]).toEqual([kind, 'post-delete']);
    return `${annotations['helm.sh/hook-weight']} ${kind}`;
  });
  const first = ['ClusterRole', 'ClusterRoleBinding', 'ConfigMap', 'Role', 'RoleBinding', 'ServiceAccount'];
  expect(weights.sort()).toEqual([...first.map((kind) => `0 ${kind}`), '1 DaemonSet', '2 Job']);
  const text = JSON.stringify(hooks.find(({ kind }) => kind === 'DaemonSet'));
  const own = { 'app.kubernetes.io/name': 'kubus', 'app.kubernetes.io/instance': 'kubus' };
  expect(text).toContain(
    `"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":${JSON.stringify(own)}}}]}`,
  );
  expect(text).toContain('"key":"kubus.dev/guest","operator":"DoesNotExist"');
  // Where the shims that it kills have their sockets.
  expect(text).toContain('{"name":"shims","mountPath":"/run/containerd/s"}');
  expect(notes).not.toContain('uninstall.enabled=true');
  expect((await render()).notes).toContain('--reuse-values --set uninstall.enabled=true');
});

test('image, resources, log level, arguments and variables can be set per service', async () => {
  const pod = await renderPod(matrix['sync-loop of its own kind']);
  expect(containerOf(pod, 'sync-loop')).toMatchObject({
    image: 'registry.example/own:v2',
    resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
    env: expect.arrayContaining([
      { name: 'KUBUS_LOG_LEVEL', value: 'debug' },
      { name: 'NODE_OPTIONS', value: '--max-old-space-size=128' },
      { name: 'TZ', value: 'UTC' },
    ]) as unknown,
  });
  expect(containerOf(pod, 'prober')).toMatchObject({ image: `kubus:${chart.about.appVersion}` });
});

test('the node has the address at which its machine is reached, and the pod waits for no folder that may be missing', async () => {
  const pod = await renderPod();
  expect(containerOf(pod, 'install').env).toContainEqual({
    name: 'KUBUS_NODE_IP',
    valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } },
  });
  // Every machine with systemd has these.
  const needed = ['/sys/fs/cgroup', '/etc/resolv.conf', '/etc/machine-id', '/etc/os-release', '/var/log'];
  const paths = pod.volumes.flatMap(({ hostPath }) => (hostPath === undefined ? [] : [hostPath]));
  expect(
    paths
      .filter(({ type }) => type !== 'DirectoryOrCreate')
      .map(({ path }) => path)
      .sort(),
  ).toEqual(needed.sort());
});

test('a container is looked at every second until it is ready, so that an upgrade waits for no period', async () => {
  for (const { name, startupProbe } of (await renderPod(matrix['several instances'])).containers)
    expect([name, startupProbe?.periodSeconds]).toEqual([name, 1]);
});

test('a disabled service has no container, and members of a cluster have two more', async () => {
  const services = async (name: string) =>
    (await renderPod(matrix[name])).containers.map((one) => one.args[0] === 'service' && one.args[1]).filter(Boolean);
  const alone = await services('default');
  expect(alone).not.toContain('status-manager');
  expect(await services('a guest by ServiceAccount')).toEqual(
    expect.arrayContaining([...alone, 'object-cache', 'status-manager']),
  );
  expect(await services('without prober')).toEqual(alone.filter((name) => name !== 'prober'));
  expect(await services('several instances')).toEqual(
    expect.arrayContaining([...alone, 'pod-workers-1', 'pod-workers-2', 'prober-1']),
  );
});

test('services that share a container are those of the placement, which the launcher gets too', async () => {
  const containers = async (name: string) =>
    (await renderPod(matrix[name])).containers.map(({ args }) => args[0] === 'service' && args[1]).filter(Boolean);
  expect(await containers('one container for all services')).toEqual(['launcher', 'services']);
  // status-manager is for members alone: prober is left, and has its own.
  expect(await containers('groups that share containers')).toEqual([
    ...['launcher', 'services-control', 'pod-workers-1', 'cri-bridge', 'cni-bridge', 'volume-manager'],
    ...['prober', 'prober-1', 'node-agent', 'node-api'],
  ]);
  expect(await containers('groups of a guest')).toEqual([
    ...['launcher', 'config-sources', 'services-writes', 'pod-workers', 'services-values', 'cni-bridge'],
    ...['prober-1', 'node-agent', 'node-api'],
  ]);
  const placementOf = async (name: string) => (parse(await renderOverlay(matrix[name])) as Values)['placement'];
  expect(await placementOf('default')).toBeUndefined();
  expect(await placementOf('one container for all services')).toBe('hosted');
  expect(await placementOf('groups of a guest')).toEqual(matrix['groups of a guest']?.['groups']);
});

test('the DaemonSet avoids the nodes that it creates, in addition to its configured affinity', async () => {
  const terms = async (name: string) => {
    const { affinity } = (await renderPod(matrix[name])) as { affinity?: unknown };
    const { nodeAffinity } = affinity as { nodeAffinity: Record<string, { nodeSelectorTerms: unknown[] }> };
    return nodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']?.nodeSelectorTerms;
  };
  const own = { key: 'kubus.dev/guest', operator: 'DoesNotExist' };
  expect(await terms('default')).toEqual([{ matchExpressions: [own] }]);
  expect(await terms('where it runs')).toEqual([
    { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }, own] },
    { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['m1'] }], matchExpressions: [own] },
  ]);
  expect(parse(await renderOverlay())).toMatchObject({ labels: { 'kubus.dev/guest': 'true' } });
});

test('values of the node override those of the chart, including null', async () => {
  const config = 'runtime: {handler: null}\nlabels: {a: b}\npods: {max: 20}\ndns: {resolvConf: ""}\n';
  expect(parse(await renderOverlay({ node: { config } }))).toMatchObject({
    runtime: { handler: null },
    labels: { a: 'b', 'kubus.dev/guest': 'true' },
    pods: { max: 20 },
    dns: { resolvConf: '' },
  });
});

test('the notes warn that a ServiceAccount may read all Secrets, and only then', async () => {
  const notesOf = async (values: Record<string, unknown>) => (await render(values)).notes;
  expect(await notesOf({ cluster: { mode: 'serviceAccount' } })).toMatch(
    /WARNING: cluster\.mode is serviceAccount: the ServiceAccount kubus may list and watch all Secrets of the cluster/,
  );
  const others = [{}, matrix['a guest by bootstrap'] ?? {}];
  for (const values of others) expect(await notesOf(values)).not.toContain('Secrets');
});

test('the notes name the node as the command line knows it, whatever its folder is called', async () => {
  const { notes } = await render({ node: { folder: 'second', nameSuffix: '-two' } });
  expect(notes).toContain('/var/lib/kubus/second/bin/kubus --node MACHINE-two status');
});
