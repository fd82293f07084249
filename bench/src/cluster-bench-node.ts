import { TestCluster, makeTestFolder, removeTestFolder, runKubus, sweepTestFolders, testNode } from '@kubus/harness';
import { ADMIN, isReady } from '@kubus/kube-fixture';
import type { NodeDir } from '@kubus/launcher';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ClusterPods } from './cluster-pods.ts';
import type { Subject } from './subject.ts';

/**
 * A node that is a member of a cluster, whose pods have volumes. The API server is the one for tests and runs in the measuring
 * process.
 */
export class ClusterBenchNode implements Subject {
  readonly dir: NodeDir;
  readonly #folder: string;
  readonly #cluster: TestCluster;
  readonly #pods: ClusterPods;

  static async start(): Promise<ClusterBenchNode> {
    await sweepTestFolders();
    const folder = await makeTestFolder();
    const cluster = await TestCluster.open({ approve: () => true });
    try {
      const { node } = testNode(folder);
      await upInCluster(folder, await cluster.nodeKubeconfig(node));
      await cluster.api.waitFor({ kind: 'Node', name: node }, isReady);
      return new ClusterBenchNode(folder, cluster, await ClusterPods.of(cluster.api, node));
    } catch (error) {
      await cluster.close();
      await removeTestFolder(folder);
      throw error;
    }
  }

  private constructor(folder: string, cluster: TestCluster, pods: ClusterPods) {
    this.dir = testNode(folder);
    this.#folder = folder;
    this.#cluster = cluster;
    this.#pods = pods;
  }

  create(name: string): Promise<number> {
    return this.#pods.withVolumes.create(name);
  }

  remove(name: string): Promise<number> {
    return this.#pods.withVolumes.remove(name);
  }

  /** A token with which the node's API may be asked for everything; the cluster has to be the one for tests. */
  get token(): string {
    const { server } = this.#cluster;
    if (server === undefined) throw new Error('there are tokens of the API server for tests only');
    return server.identities.token(ADMIN);
  }

  async stop(): Promise<void> {
    this.#pods.close();
    await runKubus(this.#folder, ['down']).outcome;
    await this.#cluster.close();
    await removeTestFolder(this.#folder);
  }
}

/** Starts the node of a test's folder as a member of a cluster. */
export async function upInCluster(folder: string, kubeconfig: string, flags: readonly string[] = []): Promise<void> {
  const manifests = join(folder, 'manifests');
  await mkdir(manifests);
  const up = ['up', '--manifests', manifests, '--kubeconfig', kubeconfig, ...flags];
  const { code, stdout, stderr } = await runKubus(folder, up).outcome;
  if (code !== 0) throw new Error(`kubus up failed (${code}):\n${stdout}${stderr}`);
}
