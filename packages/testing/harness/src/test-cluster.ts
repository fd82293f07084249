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
 * The cluster that a test's node joins: that of the kubeconfig in the environment variable KUBECONFIG (its user has to be an
 * administrator, and its controllers have to sign certificates). Default: the test API server.
 */
export class TestCluster {
  /** A client with the administrator's rights. */
  readonly api: Cluster;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** The test API server, for injecting faults; undefined for a real cluster. */
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

  /** Writes a kubeconfig of a node's own user with a certificate that the cluster has signed. Returns its path. */
  async nodeKubeconfig(node: string): Promise<string> {
    const clientCertificate = await nodeCertificate(this.api, nodeUser(node));
    return this.#folder.write(await this.api.kubeconfigText({ clientCertificate }));
  }

  /** The authority that signs the API server's client certificate for nodes, PEM; a real cluster publishes its own. */
  async clientAuthority(): Promise<string> {
    if (this.server !== undefined) return this.server.authority.certificate;
    const name = { kind: 'ConfigMap', namespace: 'kube-system', name: 'extension-apiserver-authentication' };
    const data: unknown = (await this.api.get(name))?.['data'];
    const { 'client-ca-file': authority } = authoritySchema.parse(data);
    return authority;
  }

  /**
   * Ends the test API server, and removes the kubeconfig files. A real cluster stays, without the objects that {@link
   * api} has created.
   */
  async close(): Promise<void> {
    await this.#folder.remove();
    if (this.server === undefined) await this.api.removeMade();
    await this.server?.close();
  }
}
