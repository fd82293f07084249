import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from '@jest/globals';
import { type NodeOptions, type TestNode, startNode } from '@kubus/harness';
import { ADMIN, Cluster, type KubeObject, TestApiServer } from '@kubus/kube-fixture';

/** Port of the node's own HTTPS API in its network namespace. */
const NODE_API_PORT = 10_250;

/** A node that is a member of a cluster. */
export interface ClusterNode {
  readonly node: TestNode;
  /** The cluster as its users see it. */
  readonly cluster: Cluster;
  /** Its administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** The test's own API server; undefined where the environment variable KUBECONFIG names a real one. */
  readonly server: TestApiServer | undefined;
}

/**
 * One such node for all tests of a file: with a test API server in this process, or with the real one that KUBECONFIG
 * names, whose user has to be its administrator. The node is Ready before the first test.
 */
export function sharedClusterNode(options: NodeOptions, onStart: (parts: ClusterNode) => Promise<void> | void): void {
  let parts: ClusterNode | undefined;
  let server: TestApiServer | undefined;
  beforeAll(async () => {
    const named = process.env['KUBECONFIG'];
    let address: number | undefined;
    if (named === undefined) {
      const kubelet = async () => ({ host: '127.0.0.1', port: (address ??= await parts?.node.tunnel.expose(NODE_API_PORT)) ?? 0 });
      server = await TestApiServer.start({ schedule: true, approve: () => true, bookmarkMs: 10_000, kubelet });
    }
    const kubeconfig = named ?? (await server?.kubeconfig(ADMIN, 'certificate')) ?? '';
    const cluster = Cluster.open(kubeconfig);
    const node = await startNode({ ...options, kubeconfig });
    parts = { node, cluster, kubeconfig, server };
    if (server !== undefined) await trust(node, server);
    await cluster.waitFor({ kind: 'Node', name: node.name }, isReady);
    await onStart(parts);
  });
  afterAll(async () => {
    if (parts !== undefined) {
      const { node, cluster } = parts;
      await node.stop();
      // Whoever takes a node out of its cluster says so to the cluster.
      await cluster.delete({ kind: 'Node', name: node.name });
    }
    await server?.close();
  });
}

/** The node's API takes certificates of the cluster's authority. */
async function trust(node: TestNode, server: TestApiServer): Promise<void> {
  const clientCaFile = join(node.folder, 'client-ca.crt');
  await writeFile(clientCaFile, server.authority.certificate);
  await node.reconfigure(({ server: api, ...config }) => ({
    ...config,
    ...(api && { server: { ...api, authentication: { ...api.authentication, clientCaFile } } }),
  }));
  await node.restart('node-api-0');
}

/** Whether the condition `Ready` of a pod or a node is `True`. */
export function isReady({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True');
}

/** What a kubectl command has said. */
export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the machine's kubectl as the cluster's administrator. */
export async function kubectl({ kubeconfig, server }: ClusterNode, args: readonly string[], input = ''): Promise<Said> {
  // The test API server describes no fields by which kubectl could check what it sends.
  const own = server !== undefined && args[0] === 'apply' ? ['--validate=false'] : [];
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, ...args, ...own], { stdio: 'pipe' });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
