import { type Cluster, type Json, type JsonObject, type SeenWatch, isReady } from '@kubus/kube-fixture';
import { setTimeout as wait } from 'node:timers/promises';
import { benchContainer } from './bench-pod.ts';
import type { Subject } from './subject.ts';

/** The namespace of the pods and of the objects that they refer to. */
const NAMESPACE = 'default';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
/** Delay before an API server that refused a watch is asked again, in milliseconds. */
const AGAIN_MS = 100;
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
  readonly #awaited = new Map<string, () => void>();
  #watch: SeenWatch;
  #closed = false;

  /** Creates the objects of the volumes. @param node the pods' node */
  static async of(api: Cluster, node: string): Promise<ClusterPods> {
    for (const object of OBJECTS) {
      if ((await api.get({ kind: object.kind, name: object.metadata.name })) === undefined) await api.create(object);
    }
    return new ClusterPods(api, node, await api.watch(PODS));
  }

  private constructor(api: Cluster, node: string, watch: SeenWatch) {
    this.#api = api;
    this.#watch = watch;
    const remove = (name: string) => this.#remove(name);
    this.plain = { remove, create: (name) => this.#create(name, podOf(name, node)) };
    this.withVolumes = { remove, create: (name) => this.#create(name, podWithVolumes(name, node)) };
    void this.#follow();
  }

  close(): void {
    this.#closed = true;
    this.#watch.close();
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

  /** An API server ends a watch now and then. A new one begins with all pods that exist, and a list shows those that no longer do. */
  async #follow(): Promise<void> {
    for (;;) {
      for (let event = await this.#watch.next(); event !== undefined; event = await this.#watch.next()) {
        // The API server has no more of this watch's history.
        if (event.type === 'ERROR') break;
        const { name } = event.object.metadata;
        if (event.type === 'DELETED') this.#done(`removed ${name}`);
        else if (isReady(event.object)) this.#done(`ready ${name}`);
      }
      this.#watch.close();
      while (!this.#closed && !(await this.#watchAgain())) await wait(AGAIN_MS);
      if (this.#closed) return;
    }
  }

  /** Resolves to false when the API server does not answer. */
  async #watchAgain(): Promise<boolean> {
    const watch = await this.#api.watch(PODS).catch(() => undefined);
    if (watch === undefined) return false;
    this.#watch = watch;
    if (this.#closed) watch.close();
    const pods = await this.#api.list('Pod', NAMESPACE).catch(() => undefined);
    if (pods === undefined) return false;
    const present = new Set(pods.map(({ metadata }) => `removed ${metadata.name}`));
    for (const what of [...this.#awaited.keys()]) {
      if (what.startsWith('removed ') && !present.has(what)) this.#done(what);
    }
    return true;
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
