import { type Cluster, type Json, type JsonObject, type SeenWatch, isReady } from '@kubus/kube-fixture';
import { benchContainer } from './bench-pod.ts';
import type { Subject } from './subject.ts';

/** The namespace of the pods and of the objects that they refer to. */
const NAMESPACE = 'default';
/** The objects that the volumes of every pod refer to. */
const OBJECTS = [
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bench', namespace: NAMESPACE }, data: { key: 'dmFsdWU=' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bench', namespace: NAMESPACE }, data: { key: 'value' } },
];

/** Pods of one node at an API server. A pod is Ready, or removed, when the API server reports it. */
export class ClusterPods {
  /** Pods with a Secret, a ConfigMap and an emptyDir as volumes. */
  readonly withVolumes: Subject;
  /** Pods without volumes. */
  readonly plain: Subject;
  readonly #api: Cluster;
  readonly #pods: SeenWatch;
  readonly #awaited = new Map<string, () => void>();

  /** Creates the objects of the volumes. @param node the pods' node */
  static async of(api: Cluster, node: string): Promise<ClusterPods> {
    for (const object of OBJECTS) {
      if ((await api.get({ kind: object.kind, name: object.metadata.name })) === undefined) await api.create(object);
    }
    return new ClusterPods(api, node, await api.watch(`/api/v1/namespaces/${NAMESPACE}/pods`));
  }

  private constructor(api: Cluster, node: string, pods: SeenWatch) {
    this.#api = api;
    this.#pods = pods;
    const remove = (name: string) => this.#remove(name);
    this.plain = { remove, create: (name) => this.#create(name, podOf(name, node)) };
    this.withVolumes = { remove, create: (name) => this.#create(name, podWithVolumes(name, node)) };
    void this.#follow();
  }

  close(): void {
    this.#pods.close();
  }

  async #create(name: string, pod: JsonObject): Promise<number> {
    const ready = this.#until(`ready ${name}`);
    const begin = performance.now();
    await this.#api.create(pod);
    return (await ready) - begin;
  }

  async #remove(name: string): Promise<number> {
    const removed = this.#until(`removed ${name}`);
    const begin = performance.now();
    await this.#api.delete({ kind: 'Pod', name });
    return (await removed) - begin;
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

function podOf(name: string, nodeName: string, volumes: Json[] = [], volumeMounts: Json[] = []): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      volumes,
      containers: [{ ...benchContainer, volumeMounts }],
    },
  };
}

function podWithVolumes(name: string, nodeName: string): JsonObject {
  const volumes = [
    { name: 'secret', secret: { secretName: 'bench' } },
    { name: 'config', configMap: { name: 'bench' } },
    { name: 'scratch', emptyDir: {} },
  ];
  const mounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  return podOf(name, nodeName, volumes, mounts);
}
