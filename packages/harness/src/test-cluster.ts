import {
  Cluster,
  KubeconfigFolder,
  TestApiServer,
  type TestApiServerOptions,
  nodeCertificate,
  nodeUser,
} from '@kubus/kube-fixture';
import * as z from 'zod';

const authoritySchema = z.object({ 'client-ca-file': z.string() });

/**
 * The cluster that a test's node joins: that of the kubeconfig which the environment variable KUBECONFIG names (its user
 * has to be an administrator, and its controllers have to sign certificates), or the test API server.
 */
export class TestCluster {
  /** The administrator's way to it. */
  readonly api: Cluster;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** What faults are made with; undefined when the cluster is a real one. */
  readonly server: TestApiServer | undefined;
  readonly #folder: KubeconfigFolder;

  static async open(options: TestApiServerOptions = {}): Promise<TestCluster> {
    const named = process.env['KUBECONFIG'];
    const server = named === undefined ? await TestApiServer.start(options) : undefined;
    const kubeconfig = named ?? (await server?.kubeconfig()) ?? '';
    return new TestCluster({ kubeconfig, server, folder: await KubeconfigFolder.make() });
  }

  private constructor(parts: { kubeconfig: string; server: TestApiServer | undefined; folder: KubeconfigFolder }) {
    this.api = Cluster.open(parts.kubeconfig);
    this.kubeconfig = parts.kubeconfig;
    this.server = parts.server;
    this.#folder = parts.folder;
  }

  /** Writes a kubeconfig of a node's own user, by a certificate that the cluster has signed. Returns its path. */
  async nodeKubeconfig(node: string): Promise<string> {
    const clientCertificate = await nodeCertificate(this.api, nodeUser(node));
    return this.#folder.write(await this.api.kubeconfigText({ clientCertificate }));
  }

  /** Certificates of those who may vouch for the API server when it asks a node: a real one publishes its own, PEM. */
  async clientAuthority(): Promise<string> {
    if (this.server !== undefined) return this.server.authority.certificate;
    const name = { kind: 'ConfigMap', namespace: 'kube-system', name: 'extension-apiserver-authentication' };
    const data: unknown = (await this.api.get(name))?.['data'];
    const { 'client-ca-file': authority } = authoritySchema.parse(data);
    return authority;
  }

  /** Ends the test API server, and removes the kubeconfig files. A real cluster stays, without what {@link api} has made. */
  async close(): Promise<void> {
    await this.#folder.remove();
    if (this.server === undefined) await this.api.removeMade();
    await this.server?.close();
  }
}
