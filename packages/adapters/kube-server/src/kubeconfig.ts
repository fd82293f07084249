import type { KeyPair } from '@kubus/certificates';

/** The credentials of a client. */
export type Credential = { readonly token: string } | { readonly clientCertificate: KeyPair };

/** The content of a kubeconfig, as JSON, which YAML takes as it is. */
export function kubeconfigText(cluster: { url: string; authority?: string }, credential: Credential): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const user =
    'token' in credential
      ? { token: credential.token }
      : {
          'client-certificate-data': base64(credential.clientCertificate.certificate),
          'client-key-data': base64(credential.clientCertificate.key),
        };
  const { url, authority } = cluster;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'test',
        cluster: { server: url, ...(authority !== undefined && { 'certificate-authority-data': base64(authority) }) },
      },
    ],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  });
}
