// The metrics of a node that is a member of a cluster, compared with those of the reference.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { isReady } from '@kubus/kube-fixture';
import { type TestCluster, type TestNode, poll } from '@kubus/harness';
import { apiSocket } from '@kubus/launcher';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { kubectl, sharedClusterNode } from '../src/cluster-node.ts';
import { type ReadFamily, readExposition } from '../src/exposition-reader.ts';
import { container, pod, podRunning, shell } from '../src/pods.ts';

let cluster: TestCluster;
let node: TestNode;

sharedClusterNode({}, (started) => {
  ({ node, cluster } = started);
});

async function serve(path: string): Promise<Map<string, ReadFamily>> {
  const asking = request({ socketPath: apiSocket(node.dir), path, agent: false });
  asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  return readExposition(await text(answer));
}

/** Metrics of the reference that Kubus does not have, by name prefix, with the reason. */
const LEFT_OUT: readonly (readonly [names: RegExp, why: string])[] = [
  [/^go_/, 'of Go’s runtime'],
  [/^(aggregator_discovery|apiserver)_/, 'of an API server’s library, which Kubus does not use'],
  [/^workqueue_/, 'of the queues of Go’s client: here every pod has its own queue'],
  [
    /^(cardinality_enforcement_.*|disabled_metrics_total|hidden_metrics_total|registered_metrics_total)$/,
    'of the library that writes the reference’s metrics',
  ],
  [/^rest_client_(exec_plugin|transport)_/, 'of the caches and plugins of Go’s client'],
  [/^process_network_/, 'of a network namespace, which the node’s processes share'],
  [/^kubelet_imagemanager_inmemory_/, 'of bounded caches; here everything on disk is in memory too'],
  [/^kubelet_pleg_discard_events$/, 'nothing is discarded: a pod has a state, not a queue'],
  [/^kubelet_cri_losing_support$/, 'every runtime that speaks CRI v1 is supported'],
  [/^kubelet_graceful_shutdown_/, 'the node does not delay the machine’s shutdown'],
  [/^kubelet_(cpu|memory|topology)_manager_/, 'the node allocates no exclusive CPUs or memory'],
  [/^kubelet_pod_watch_events_dropped_total$/, 'the node does not serve the pods API'],
  [/^kubernetes_feature_enabled$/, 'feature gates are set before the node starts, see kubus kubelet --help'],
  [
    /^(force_cleaned_failed_volume_operation|reconstruct_volume_operations)/,
    'volumes are found by their mounts, without separate operations',
  ],
];

function reasonFor(name: string): string | undefined {
  return LEFT_OUT.find(([names]) => names.test(name))?.[1];
}

async function reference(file: string): Promise<{ name: string; type: string; labels: string[] }[]> {
  const rows = (await readFile(new URL(`reference/${file}`, import.meta.url), 'utf8')).trimEnd().split('\n');
  return rows.slice(1).map((row) => {
    const [name = '', type = '', labels = ''] = row.split('\t');
    return { name, type, labels: labels === '' ? [] : labels.split(',') };
  });
}

/** The metrics of the reference that are missing or have another type or other labels. */
async function differences(file: string, served: ReadonlyMap<string, ReadFamily>): Promise<string[]> {
  return (await reference(file)).flatMap(({ name, type, labels }) => {
    const family = served.get(name);
    if (reasonFor(name) !== undefined) return family === undefined ? [] : [`${name} is served, but listed as omitted`];
    if (family === undefined) return [`${name} is missing`];
    if (family.type !== type) return [`${name} is a ${family.type}, not a ${type}`];
    const [first] = family.samples;
    const own = first === undefined ? labels : Object.keys(first.labels).sort();
    return own.join() === labels.join() ? [] : [`${name} has the labels ${own.join()}, not ${labels.join()}`];
  });
}

describe('the node', () => {
  beforeAll(async () => {
    const probed = {
      exec: { command: ['true'] },
      periodSeconds: 1,
    };
    await cluster.api.create({
      ...pod('web', {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          container({ name: 'main', readinessProbe: probed, volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
        ],
        initContainers: [container({ name: 'first', command: shell('true') })],
        nodeName: node.name,
      }),
    });
    await cluster.api.create({
      ...podRunning('fails', 'exit 3', { restartPolicy: 'Never', nodeName: node.name }),
    });
    await cluster.api.waitFor({ kind: 'Pod', name: 'web' }, isReady);
    await cluster.api.waitFor(
      { kind: 'Pod', name: 'fails' },
      ({ status }) => (status as { phase?: string }).phase === 'Failed',
    );
  });

  test.each([
    ['/metrics', 'metrics.tsv'],
    ['/metrics/probes', 'metrics-probes.tsv'],
    ['/metrics/slis', 'metrics-slis.tsv'],
  ])('%s has every metric of the reference with its type and labels, except documented ones', async (path, file) => {
    expect(await differences(file, await serve(path))).toEqual([]);
  });

  test('counts the actions of its pods', async () => {
    const served = await serve('/metrics');
    const count = (name: string, labels: Record<string, string> = {}) =>
      served
        .get(name)
        ?.samples.filter((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value))
        .reduce((sum, { value }) => sum + value, 0);
    expect(count('kubelet_running_pods')).toBe(1);
    expect(count('kubelet_desired_pods')).toBe(2);
    expect(count('kubelet_active_pods')).toBe(1);
    expect(count('kubelet_started_pods_total')).toBe(2);
    expect(count('kubelet_started_containers_total', { container_type: 'container' })).toBe(2);
    expect(count('kubelet_started_containers_total', { container_type: 'init_container' })).toBe(1);
    expect(count('kubelet_terminated_containers_total', { exit_code: '3' })).toBe(1);
    expect(count('kubelet_runtime_operations_total', { operation_type: 'run_podsandbox' })).toBe(2);
    expect(count('kubelet_node_name', { node: node.name })).toBe(1);
    expect(count('rest_client_requests_total', { code: '200' })).toBeGreaterThan(0);
  });

  test('measures how long pods take until the API server shows that they are running', async () => {
    const started = async () => (await serve('/metrics')).get('kubelet_pod_start_sli_duration_seconds')?.samples[0];
    await poll('a pod was measured', async () => ((await started())?.value ?? 0) > 0 || undefined);
  });

  test('reports its usage through the API server, too', async () => {
    const { code, stdout } = await kubectl(cluster, ['get', '--raw', `/api/v1/nodes/${node.name}/proxy/stats/summary`]);
    expect(code).toBe(0);
    const summary = JSON.parse(stdout) as { node: object; pods: { podRef: { name: string } }[] };
    expect(summary.node).toMatchObject({
      nodeName: node.name,
      cpu: { usageCoreNanoSeconds: expect.any(Number) as unknown },
    });
    expect(summary.pods.find(({ podRef }) => podRef.name === 'web')).toMatchObject({
      ...{ podRef: { namespace: 'default' }, containers: [{ name: 'main' }], volume: [{ name: 'v' }] },
    });
  });

  test('forgets the containers of a pod that was removed', async () => {
    const ofWeb = async () => {
      const families = [...(await serve('/metrics'))].filter(([, { samples }]) =>
        samples.some(({ labels }) => labels['pod'] === 'web'),
      );
      return families.map(([name]) => name).sort();
    };
    expect(await ofWeb()).toEqual(
      expect.arrayContaining(['kubelet_container_log_filesystem_used_bytes', 'prober_probe_total']),
    );
    await cluster.api.delete({ kind: 'Pod', name: 'web' });
    await poll('nothing of the pod is shown', async () => (await ofWeb()).length === 0 || undefined);
  });
});
