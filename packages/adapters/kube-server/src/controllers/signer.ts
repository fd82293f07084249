import { asList, asText, at, type KubeObject, resourceOfKind, tableOf } from '@kubus/kube-objects';
import { timeOfMs } from '@kubus/pod';
import type { Authority, Usage } from '@kubus/certificates';
import type { Registry } from '../registry.ts';
import type { Target } from '../target.ts';

/** What each signer's certificates are for. Source: API concepts, "Kubernetes signers". */
const SIGNERS: Readonly<Record<string, readonly Usage[]>> = {
  'kubernetes.io/kube-apiserver-client': ['client'],
  'kubernetes.io/kube-apiserver-client-kubelet': ['client'],
  'kubernetes.io/kubelet-serving': ['server'],
};

export interface SignerOptions {
  readonly authority: Authority;
  /** Whether a request is approved automatically. */
  approve(request: KubeObject): boolean;
  /** How long certificates are valid, in milliseconds, when the request does not say. */
  readonly lifetimeMs: number;
}

/** Approves certificate requests if the test requests it, and signs approved ones. Returns a function that ends it. */
export function startSigner(registry: Registry, options: SignerOptions): () => void {
  const resource = resourceOfKind('CertificateSigningRequest');
  if (resource === undefined) return () => undefined;
  const look = async (request: KubeObject): Promise<void> => {
    const { name } = request.metadata;
    const target: Target = { resource, namespace: '', name, subresource: 'status' };
    const conditions = asList(at(request, 'status', 'conditions'));
    const is = (type: string) => conditions.some((condition) => at(condition, 'type') === type);
    const signer = asText(at(request, 'spec', 'signerName'));
    const usages = SIGNERS[signer];
    if (is('Denied') || is('Failed') || at(request, 'status', 'certificate') !== undefined) return;
    if (!is('Approved')) {
      if (options.approve(request)) registry.replace(target, approved(request, registry.now()));
      return;
    }
    if (usages === undefined) return;
    const pem = Buffer.from(asText(at(request, 'spec', 'request')), 'base64').toString();
    const seconds = at(request, 'spec', 'expirationSeconds');
    const lifetimeMs = typeof seconds === 'number' ? seconds * 1000 : options.lifetimeMs;
    const certificate = await options.authority.sign(pem, usages, lifetimeMs);
    registry.replace(target, {
      ...request,
      status: { ...request.status, certificate: Buffer.from(certificate).toString('base64') },
    });
  };
  return registry.store.follow(({ resource: table, type, object }) => {
    if (table !== tableOf(resource) || type === 'DELETED') return;
    // After all watchers have got the change.
    queueMicrotask(() => {
      look(object).catch((error: unknown) => {
        registry.replace(
          { resource, namespace: '', name: object.metadata.name, subresource: '' },
          failed(object, error),
        );
      });
    });
  });
}

function approved(request: KubeObject, now: number): KubeObject {
  return withCondition(request, 'Approved', 'AutoApproved', 'Approved by the API server of the node.', now);
}

function failed(request: KubeObject, error: unknown): KubeObject {
  return withCondition(
    request,
    'Failed',
    'SigningFailed',
    String(error),
    Date.parse(request.metadata.creationTimestamp),
  );
}

function withCondition(request: KubeObject, type: string, reason: string, message: string, now: number): KubeObject {
  const time = timeOfMs(now);
  const condition = { type, status: 'True', reason, message, lastUpdateTime: time, lastTransitionTime: time };
  return {
    ...request,
    status: { ...request.status, conditions: [...asList(at(request, 'status', 'conditions')), condition] },
  };
}
