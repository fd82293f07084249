import { type NodeDir, adminKubeconfig, nodeKubeconfig } from '@kubus/launcher';
import { rename, writeFile } from 'node:fs/promises';

/**
 * Writes the kubeconfigs of the node itself and of its administrator, with new certificates of the authority of the node's own API.
 *
 * @param port that of the machine's loopback on which the administrator reaches it
 * @param nodePort that of the node's loopback, on which the node reaches it
 */
export async function writeApiCredentials(dir: NodeDir, port: number, nodePort: number): Promise<void> {
  // Imported only here: it contains what makes certificates, which no other command needs.
  const { ADMIN, CERTIFICATE_MS, kubeconfigText, nodeUser, openAuthority } = await import('@kubus/kube-server');
  const authority = await openAuthority(dir.state('kube-api'));
  const files = [
    { user: nodeUser(dir.node), port: nodePort, path: nodeKubeconfig(dir) },
    { user: ADMIN, port, path: adminKubeconfig(dir) },
  ];
  for (const { user, port: own, path } of files) {
    const organizations = user.groups.filter((group) => group !== 'system:authenticated');
    const subject = { commonName: user.username, organizations };
    const clientCertificate = await authority.issue(subject, 'client', CERTIFICATE_MS);
    const cluster = { url: `https://127.0.0.1:${own}`, authority: authority.certificate };
    const next = `${path}.new`;
    await writeFile(next, kubeconfigText(cluster, { clientCertificate }), { mode: 0o600 });
    await rename(next, path);
  }
}
