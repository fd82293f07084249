import { TestCluster, makeTestFolder, removeTestFolder, runKubus, sweepTestFolders, testNode } from '@kubus/harness';
import { ADMIN, type SeenWatch, isReady } from '@kubus/kube-fixture';
import type { NodeDir } from '@kubus/launcher';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { benchContainer } from './bench-pod.ts';
import type { Subject } from './subject.ts';

/** The namespace of the pods and of the objects that they refer to. */
const NAMESPACE = 'default';
/** The objects that the volumes of every pod refer to. */
const OBJECTS = [
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bench', namespace: NAMESPACE }, data: { key: 'dmFsdWU=' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bench', namespace: NAMESPACE }, data: { key: 'value' } },
];

/**
 * A node that is a member of a cluster, whose pods have a Secret, a ConfigMap and an emptyDir as volumes. A pod is Ready,
 * or removed, when
 * the API server reports it; the API server is the one for tests and runs in the measuring process.
 */
export class ClusterBenchNode implements Subject {
  readonly dir: NodeDir;
  readonly #folder: string;
  readonly #cluster: TestCluster;
  readonly #pods: SeenWatch;
  readonly #awaited = new Map<string, () => void>();

  static async start(): Promise<ClusterBenchNode> {
    await sweepTestFolders();
    const folder = await makeTestFolder();
    const cluster = await TestCluster.open({ approve: () => true });
    try {
      const manifests = join(folder, 'manifests');
      await mkdir(manifests);
      const { node } = testNode(folder);
      const kubeconfig = await cluster.nodeKubeconfig(node);
      const up = ['up', '--manifests', manifests, '--kubeconfig', kubeconfig];
      const { code, stdout, stderr } = await runKubus(folder, up).outcome;
      if (code !== 0) throw new Error(`kubus up failed (${code}):\n${stdout}${stderr}`);
      await cluster.api.waitFor({ kind: 'Node', name: node }, isReady);
      for (const object of OBJECTS) await cluster.api.create(object);
      return new ClusterBenchNode(folder, cluster, await cluster.api.watch(`/api/v1/namespaces/${NAMESPACE}/pods`));
    } catch (error) {
      await cluster.close();
      await removeTestFolder(folder);
      throw error;
    }
  }

  private constructor(folder: string, cluster: TestCluster, pods: SeenWatch) {
    this.dir = testNode(folder);
    this.#folder = folder;
    this.#cluster = cluster;
    this.#pods = pods;
    void this.#follow();
  }

  async create(name: string): Promise<number> {
    const ready = this.#until(`ready ${name}`);
    const begin = performance.now();
    await this.#cluster.api.create(podWithVolumes(name, this.dir.node));
    return (await ready) - begin;
  }

  async remove(name: string): Promise<number> {
    const removed = this.#until(`removed ${name}`);
    const begin = performance.now();
    await this.#cluster.api.delete({ kind: 'Pod', name });
    return (await removed) - begin;
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

  async #follow(): Promise<void> {
    for (let event = await this.#pods.next(); event !== undefined; event = await this.#pods.next()) {
      const { name } = event.object.metadata;
      if (event.type === 'DELETED') this.#done(`removed ${name}`);
      else if (isReady(event.object)) this.#done(`ready ${name}`);
    }
  }

  #until(what: string): Promise<number> {
    return new Promise((resolve) => this.#awaited.set(what, () => resolve(performance.now())));
  }

  #done(what: string): void {
    this.#awaited.get(what)?.();
    this.#awaited.delete(what);
  }
}

function podWithVolumes(name: string, nodeName: string) {
  const mounts = ['secret', 'config', 'scratch'].map((volume) => ({ name: volume, mountPath: `/${volume}` }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      volumes: [
        { name: 'secret', secret: { secretName: 'bench' } },
        { name: 'config', configMap: { name: 'bench' } },
        { name: 'scratch', emptyDir: {} },
      ],
      containers: [{ ...benchContainer, volumeMounts: mounts }],
    },
  };
}
