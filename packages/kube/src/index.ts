export { rotationTime } from './certificate-plan.ts';
export type { CertificateSubject } from './certificate-request.ts';
export { CertificateStore, type Validity, validityOf } from './certificate-store.ts';
export { ClientCertificates, type ClientCertificatesOptions } from './client-certificates.ts';
export {
  KubeClient,
  type KubeClientOptions,
  type KubeQuery,
  type KubeRequest,
  type KubeRequester,
  type KubeWatch,
  type KubeWatcher,
} from './kube-client.ts';
export { KubeError, isExpired, isOutage } from './kube-error.ts';
export { KubeLink } from './kube-link.ts';
export { type KubeResource, kubePath } from './kube-path.ts';
export { type ApiServerConfig, type ClientPorts, openKubeClient } from './open-kube-client.ts';
export { Reflector, type ReflectorListener, type ReflectorOptions } from './reflector.ts';
export type { MetricsSink } from './rest-client-metrics.ts';
export { CertificateError, type CertificateOrder, newPrivateKey, requestCertificate } from './request-certificate.ts';
