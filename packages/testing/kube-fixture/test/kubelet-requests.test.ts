// Which certificate requests a node's own API approves by itself.
import 'reflect-metadata';
import { expect, test } from '@jest/globals';
import { ALGORITHM, newKeys } from '@kubus/certificates';
import { isKubeletRequest } from '@kubus/kube-server';
import * as x509 from '@peculiar/x509';

const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const OWN = 'O=system:nodes, CN=system:node:a';

async function request(name: string): Promise<string> {
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    ...{ name, keys: await newKeys(), signingAlgorithm: ALGORITHM },
  });
  return made.toString('pem');
}

test.each<[isOwn: boolean, name: string, signerName: string, username: string]>([
  [true, OWN, CLIENT, 'system:node:a'],
  [true, OWN, 'kubernetes.io/kubelet-serving', 'system:node:a'],
  [false, OWN, 'kubernetes.io/kube-apiserver-client', 'system:node:a'],
  [false, OWN, CLIENT, 'system:node:b'],
  [false, 'O=system:masters, CN=system:node:a', CLIENT, 'system:node:a'],
  [false, 'O=system:nodes, O=system:masters, CN=system:node:a', CLIENT, 'system:node:a'],
  [false, 'O=system:nodes, CN=system:node:b', CLIENT, 'system:node:a'],
  [false, 'O=system:nodes, CN=system:node:a, CN=admin', CLIENT, 'system:node:a'],
])('%j for %s at %s by %s', async (isOwn, name, signerName, username) => {
  const spec = { username, signerName, request: Buffer.from(await request(name)).toString('base64') };
  expect(isKubeletRequest({ spec }, 'a')).toBe(isOwn);
});

test('what is no certificate request is not approved', () => {
  const spec = { username: 'system:node:a', signerName: CLIENT, request: Buffer.from('x').toString('base64') };
  expect(isKubeletRequest({ spec }, 'a')).toBe(false);
});
