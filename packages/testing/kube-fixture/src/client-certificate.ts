import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { ALGORITHM, type KeyPair, nameOf, newKeys, privateKeyText } from '@kubus/certificates';
import type { User } from '@kubus/kube-server';
import type { Cluster } from './cluster.ts';

const KIND = 'CertificateSigningRequest';

/**
 * A client certificate of a node's user, issued by the cluster's own signer: requested, approved and awaited, with the
 * permissions
 * of the kubeconfig with which the cluster was opened.
 *
 * @throws KubeFixtureError when the cluster refuses it or has no signer.
 */
export async function nodeCertificate(cluster: Cluster, { username: commonName, groups }: User): Promise<KeyPair> {
  const keys = await newKeys();
  const organizations = groups.filter((group) => group !== 'system:authenticated');
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: nameOf({ commonName, organizations }),
    keys,
    signingAlgorithm: ALGORITHM,
  });
  const { metadata } = await cluster.create({
    apiVersion: 'certificates.k8s.io/v1',
    kind: KIND,
    metadata: { generateName: 'kubus-test-' },
    spec: {
      request: Buffer.from(request.toString('pem')).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    },
  });
  const name = { kind: KIND, name: metadata.name };
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'a node under test' }];
  await cluster.patch(name, { status: { conditions } }, { subresource: 'approval' });
  const { status } = await cluster.waitFor(name, ({ status: now }) => now?.['certificate'] !== undefined);
  await cluster.delete(name);
  const certificate = Buffer.from(status?.['certificate'] as string, 'base64').toString();
  return { certificate, key: await privateKeyText(keys) };
}
