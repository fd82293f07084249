import { type Clock, type Logger, KubusError } from '@kubus/ports';
import { X509Certificate, createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import * as z from 'zod';
import type { CertificateSubject } from './certificate-request.ts';
import type { KubeWatcher } from './kube-client.ts';
import { KubeError } from './kube-error.ts';
import { kubePath } from './kube-path.ts';
import { Reflector } from './reflector.ts';

const collection = kubePath({ group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' });
/** The usages of an elliptic-curve key; it does not support encipherment. */
const usagesOf = { client: ['digital signature', 'client auth'], server: ['digital signature', 'server auth'] };

const createdSchema = z.object({ metadata: z.object({ name: z.string() }) });
const requestSchema = z.object({
  status: z
    .object({
      certificate: z.string().optional(),
      conditions: z
        .array(z.object({ type: z.string(), reason: z.string().optional(), message: z.string().optional() }))
        .nullish(),
    })
    .optional(),
});

/** Thrown when no certificate was issued: `Denied`, `Failed`, `Late` or `Unusable`. */
export class CertificateError extends KubusError {}

/** Creates a private key in PEM: ECDSA on P-256, as in the reference. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

export interface CertificateOrder {
  readonly client: KubeWatcher;
  /** Such as `kubernetes.io/kubelet-serving`. */
  readonly signerName: string;
  readonly usage: keyof typeof usagesOf;
  readonly subject: CertificateSubject;
  /** PEM, see {@link newPrivateKey}. */
  readonly privateKey: string;
  /** The same request again, also after a restart, waits for the same object. */
  readonly resumable: boolean;
  /** Milliseconds until it times out. */
  readonly limitMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/**
 * Has the cluster sign a certificate: creates a CertificateSigningRequest and waits until it is approved and signed.
 * Resolves with the certificate in PEM.
 *
 * @throws CertificateError when it is denied, fails, or takes too long, or the signed certificate is unusable
 * @throws KubeError when the request cannot be created
 */
export async function requestCertificate(order: CertificateOrder): Promise<string> {
  // The library is loaded only in processes that request certificates.
  const { certificateRequest } = await import('./certificate-request.ts');
  const request = await certificateRequest(order.subject, order.privateKey);
  const name = await create(order, request);
  order.logger.info({ request: name }, 'waiting for the certificate request to be approved');
  const certificate = await signed(order, name);
  const parsed = new X509Certificate(certificate);
  if (!parsed.checkPrivateKey(createPrivateKey(order.privateKey))) {
    throw new CertificateError('Unusable', `${name}: the certificate is for another key`);
  }
  if (parsed.validToDate.getTime() <= order.clock.now()) {
    throw new CertificateError('Unusable', `${name}: the certificate has expired already`);
  }
  return certificate;
}

async function create({ client, signerName, usage, resumable, signal, ...order }: CertificateOrder, request: string) {
  const name = nameOf({ signerName, usage, ...order });
  const body = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: resumable ? { name } : { generateName: 'csr-' },
    spec: { request: Buffer.from(request).toString('base64'), signerName, usages: usagesOf[usage] },
  };
  try {
    const created = await client.request({ method: 'POST', path: collection, body, signal });
    return createdSchema.parse(created).metadata.name;
  } catch (thrown) {
    if (resumable && thrown instanceof KubeError && thrown.reason === 'AlreadyExists') return name;
    throw thrown;
  }
}

/** The same for the same key and purpose; it reveals nothing of the key. */
function nameOf({
  privateKey,
  ...purpose
}: Pick<CertificateOrder, 'privateKey' | 'signerName' | 'usage' | 'subject'>): string {
  const { signerName, usage, subject } = purpose;
  const open = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const digest = createHash('sha256')
    .update(open)
    .update(JSON.stringify([signerName, usage, subject]));
  return `node-csr-${digest.digest('hex').slice(0, 40)}`;
}

function signed({ client, limitMs, clock, logger, random, signal }: CertificateOrder, name: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const fail = (code: string, what: string) => reject(new CertificateError(code, `${name}: ${what}`));
  const look = ({ status }: z.infer<typeof requestSchema>) => {
    const refused = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
    if (refused !== undefined) fail(refused.type, `${refused.type}: ${refused.reason ?? ''} ${refused.message ?? ''}`);
    else if (status?.certificate !== undefined) resolve(Buffer.from(status.certificate, 'base64').toString());
  };
  const reflector = new Reflector({
    ...{ client, path: collection, query: { fieldSelector: `metadata.name=${name}` }, clock, logger, random },
    parse: (object) => requestSchema.parse(object),
    listener: {
      replaced: ([request]) => (request === undefined ? fail('Failed', 'the request has been deleted') : look(request)),
      changed: look,
      removed: () => fail('Failed', 'the request has been deleted'),
    },
  });
  reflector.start();
  const untime = clock.after(limitMs, () => fail('Late', `not signed within ${limitMs / 1000} s`));
  const abort = () => fail('Late', 'given up');
  signal.addEventListener('abort', abort, { once: true });
  return promise.finally(() => {
    reflector.stop();
    untime();
    signal.removeEventListener('abort', abort);
  });
}
