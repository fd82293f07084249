import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import {
  Cluster,
  type Json,
  type JsonObject,
  type KubeObject,
  type ObjectName,
  type RawAnswer,
  TestApiServer,
  type TestApiServerOptions,
  type User,
  nodeCertificate,
} from '../src/index.ts';

/**
 * The server that a test file judges: the one that the environment variable KUBECONFIG names, or the test API server. Both have
 * to pass the same tests. Objects of a test have unique names, and are removed with {@link JudgedCluster.close}.
 */
export class JudgedCluster {
  readonly cluster: Cluster;
  /** Of this test file alone. */
  readonly namespace: string;
  readonly node: string;
  readonly #server: TestApiServer | undefined;

  /** @param options of the test API server, which a real one has to be started with. */
  static async open(options: TestApiServerOptions = {}): Promise<JudgedCluster> {
    const named = process.env['KUBECONFIG'];
    const server = named === undefined ? await TestApiServer.start({ nodeAuthorization: true, ...options }) : undefined;
    const cluster = Cluster.open(named ?? (await server?.kubeconfig()) ?? '');
    const judged = new JudgedCluster(cluster, server);
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: judged.namespace } });
    return judged;
  }

  private constructor(cluster: Cluster, server: TestApiServer | undefined) {
    const id = randomBytes(4).toString('hex');
    this.cluster = cluster;
    this.namespace = `judged-${id}`;
    this.node = `judged-${id}`;
    this.#server = server;
  }

  /** A client with a certificate of a node's user. */
  async clientOf(user: User): Promise<Cluster> {
    const clientCertificate = await nodeCertificate(this.cluster, user);
    return Cluster.fromText(await this.cluster.kubeconfigText({ clientCertificate }));
  }

  /** A pod that does not change: its node does not exist. */
  async pod(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): Promise<KubeObject> {
    return this.cluster.create(this.podObject(name, spec, metadata));
  }

  podObject(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: this.namespace, ...metadata },
      spec: { nodeName: this.node, containers: [{ name: 'c', image: 'busybox:1' }], ...spec },
    };
  }

  /** The path of something in the namespace. */
  path(rest: string): string {
    return `/api/v1/namespaces/${this.namespace}/${rest}`;
  }

  /** A pod of the namespace, by its name. */
  named(name: string): ObjectName {
    return { kind: 'Pod', namespace: this.namespace, name };
  }

  /** A request about something in the namespace. */
  async send(method: string, rest: string, body?: JsonObject): Promise<RawAnswer> {
    return this.cluster.raw(method, this.path(rest), body && { body });
  }

  /** Patches a pod's status as a node does. */
  async status(name: string, patch: JsonObject): Promise<KubeObject> {
    return this.cluster.patch(this.named(name), patch, { kind: 'strategic-merge', subresource: 'status' });
  }

  async patch(path: string, kind: 'merge' | 'json' | 'strategic-merge', body: Json) {
    return this.cluster.raw('PATCH', path, { body, contentType: `application/${kind}-patch+json` });
  }

  async close(): Promise<void> {
    const { cluster, namespace } = this;
    if (this.#server !== undefined) {
      await this.#server.close();
      return;
    }
    for (const pod of await cluster.list('Pod', namespace)) {
      const name = { kind: 'Pod', namespace, name: pod.metadata.name };
      await cluster.patch(name, { metadata: { finalizers: null } });
      await cluster.delete(name, { gracePeriodSeconds: 0 });
    }
    await cluster.delete({ kind: 'Node', name: this.node });
    await cluster.delete({ kind: 'Namespace', name: namespace });
  }
}

/** The expected response to a refused request. */
export function refused(code: number, reason: string, message: RegExp): object {
  return { code, body: { kind: 'Status', code, reason, message: expect.stringMatching(message) } };
}
