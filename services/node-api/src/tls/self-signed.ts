import { isIP } from 'node:net';
import type { ServingPair } from './serving-pair.ts';

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
/** As with the reference: for clients whose clocks are behind. */
const EARLIER_MS = 60 * 60 * 1000;

/** RSA, so that it works with every list of cipher suites. */
const ALGORITHM = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};

/**
 * Creates what the reference creates without a configured certificate (behaviour:certificates-and-authentication): `<host>@<time>`,
 * valid for a year, signed by an authority `<host>-ca@<time>` whose key is not kept.
 *
 * @param now milliseconds since the Unix epoch
 */
export async function makeSelfSigned(host: string, addresses: readonly string[], now: number): Promise<ServingPair> {
  // Loaded only when a certificate is created, which happens once in a node's life.
  await import('reflect-metadata');
  const { default: x509 } = await import('@peculiar/x509');
  const makeKeys = () => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const [issuerKeys, keys] = await Promise.all([makeKeys(), makeKeys()]);
  const seconds = Math.floor(now / 1000);
  const life = { notBefore: new Date(now - EARLIER_MS), notAfter: new Date(now - EARLIER_MS + YEAR_MS) };
  const { digitalSignature, keyCertSign, keyEncipherment } = x509.KeyUsageFlags;
  const issuer = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [`${host}-ca@${seconds}`] }],
    keys: issuerKeys,
    signingAlgorithm: ALGORITHM,
    ...life,
    extensions: [
      new x509.KeyUsagesExtension(keyEncipherment | digitalSignature | keyCertSign, true),
      new x509.BasicConstraintsExtension(true, undefined, true),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [`${host}@${seconds}`] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: issuerKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    ...life,
    extensions: [
      new x509.KeyUsagesExtension(keyEncipherment | digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.SubjectAlternativeNameExtension(
        [...new Set([host, ...addresses])].map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
      ),
    ],
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return {
    certificate: `${certificate.toString('pem')}\n${issuer.toString('pem')}\n`,
    key: `${key}\n`,
  };
}
