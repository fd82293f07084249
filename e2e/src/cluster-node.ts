import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from '@jest/globals';
import { type NodeOptions, TestCluster, type TestNode, startNode } from '@kubus/harness';
import { isReady } from '@kubus/kube-fixture';

/** TCP port of the node's own HTTPS API in its network namespace. */
const NODE_API_PORT = 10_250;

/** A node that is a member of a cluster. */
export interface ClusterNode {
  readonly node: TestNode;
  readonly cluster: TestCluster;
}

/** Starts one such node for all tests of a file. It is Ready before the first test, and its objects are deleted after the last. */
export function sharedClusterNode(options: NodeOptions, onStart: (parts: ClusterNode) => Promise<void> | void): void {
  let cluster: TestCluster | undefined;
  let node: TestNode | undefined;
  let port: Promise<number> | undefined;
  beforeAll(async () => {
    // A private node has a network namespace of its own: the API server reaches its API through the tunnel.
    const kubelet = async () => {
      if (node === undefined) throw new Error('the node did not start');
      return { host: '127.0.0.1', port: await (port ??= node.tunnel.expose(NODE_API_PORT)) };
    };
    cluster = await TestCluster.open({
      ...{ schedule: true, approve: () => true, nodeAuthorization: true, bookmarkMs: 10_000, kubelet },
    });
    const { api } = cluster;
    node = await startNode({
      ...options,
      kubeconfig: (name) => cluster?.nodeKubeconfig(name) ?? Promise.reject(new Error()),
    });
    await trust(node, await cluster.clientAuthority());
    await api.waitFor({ kind: 'Node', name: node.name }, isReady);
    await onStart({ node, cluster });
  });
  afterAll(async () => {
    await node?.stop();
    if (node !== undefined && cluster !== undefined) await removeObjects(cluster, node.name);
    await cluster?.close();
  });
}

/** Deletes what a node leaves in a cluster that outlives the test. */
async function removeObjects({ api }: TestCluster, nodeName: string): Promise<void> {
  for (const { metadata, spec } of await api.list('Pod')) {
    const { namespace = 'default', name } = metadata;
    if (spec?.['nodeName'] === nodeName) await api.delete({ kind: 'Pod', namespace, name }, { gracePeriodSeconds: 0 });
  }
  await api.delete({ kind: 'Node', name: nodeName });
}

/** Makes the node's API accept client certificates of the cluster's authority. */
async function trust(node: TestNode, authority: string): Promise<void> {
  const clientCaFile = join(node.folder, 'client-ca.crt');
  await writeFile(clientCaFile, authority);
  await node.reconfigure(({ server: api, ...config }) => ({
    ...config,
    ...(api && { server: { ...api, authentication: { ...api.authentication, clientCaFile } } }),
  }));
  await node.restart('node-api-0');
}

/** The result of a kubectl command. */
export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the machine's kubectl as the cluster's administrator. */
export async function kubectl(
  { kubeconfig, server }: Pick<TestCluster, 'kubeconfig' | 'server'>,
  args: readonly string[],
): Promise<Said> {
  // The test API server serves no OpenAPI document with which kubectl could validate.
  const own = server !== undefined && args[0] === 'apply' ? ['--validate=false'] : [];
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, ...args, ...own], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
