import 'reflect-metadata';
import { createPrivateKey, createPublicKey, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';

/** The subject of a certificate. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames?: readonly string[] | undefined;
  readonly addresses?: readonly string[] | undefined;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/**
 * A certificate request (PKCS #10) in PEM.
 *
 * @param privateKey PEM, of an ECDSA key on P-256
 */
export async function certificateRequest(subject: CertificateSubject, privateKey: string): Promise<string> {
  const { commonName, organizations, dnsNames = [], addresses = [] } = subject;
  const key = createPrivateKey(privateKey);
  const { subtle } = webcrypto;
  const secret = key.export({ type: 'pkcs8', format: 'der' });
  const open = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const names = [
    ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...addresses.map((value) => ({ type: 'ip' as const, value })),
  ];
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [...organizations.map((name) => ({ O: [name] })), { CN: [commonName] }],
    keys: {
      privateKey: await subtle.importKey('pkcs8', secret, algorithm, false, ['sign']),
      publicKey: await subtle.importKey('spki', open, algorithm, true, ['verify']),
    },
    signingAlgorithm: algorithm,
    extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)],
  });
  return request.toString('pem');
}
