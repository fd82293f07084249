import { base64 } from '../base64.ts';
import { forbiddenField, immutableField } from '../field-problems.ts';
import { type Json, type JsonObject, asList, asObject, asText, at, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import { type Rules, keepStatus, statusOnly } from './rules.ts';

/** Rules of a kind without special behaviour. */
export const plainRules: Rules = {
  createOnUpdate: false,
  unconditionalUpdate: true,
  returnsDeleted: false,
  defaults: (object) => object,
  create: (object) => object,
  update: (next) => next,
  subresources: {},
  validate: () => [],
};

export const leaseRules: Rules = { ...plainRules, createOnUpdate: true, unconditionalUpdate: false };

/** Source: pkg/registry/core/secret and the defaults of core/v1: `stringData` is written only, the type is Opaque. */
export const secretRules: Rules = {
  ...plainRules,
  defaults: (secret) => encoded({ type: 'Opaque', ...secret }),
  validate: (secret, previous) => [
    ...(at(previous, 'immutable') === true && !sameJson(secret.data, previous?.data)
      ? [forbiddenField('data', 'field is immutable when `immutable` is set')]
      : []),
    ...(previous !== undefined && secret['type'] !== previous['type']
      ? [immutableField('type', asText(secret['type']))]
      : []),
  ],
};

function encoded(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret;
  if (stringData === undefined) return secret;
  const texts = Object.entries(asObject(stringData)).map(([key, value]) => [key, base64(asText(value))]);
  return { ...rest, data: { ...asObject(secret.data), ...(Object.fromEntries(texts) as JsonObject) } };
}

/** Source: pkg/registry/core/namespace. The label is set by the defaults of core/v1 (KEP-2161). */
export const namespaceRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (namespace) => ({
    ...namespace,
    metadata: {
      ...namespace.metadata,
      labels: { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': namespace.metadata.name },
    },
  }),
  create: (namespace) => ({
    ...namespace,
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }),
  update: (next, previous) => keepStatus({ ...next, spec: previous.spec ?? {} }, previous),
  subresources: { status: statusOnly },
  terminating: (namespace, deletionTimestamp) => ({
    ...namespace,
    metadata: { ...namespace.metadata, deletionTimestamp },
    status: { ...namespace.status, phase: 'Terminating' },
  }),
};

/** Service addresses are allocated from here: 10.96.0.0/16, as kubeadm sets it. */
const SERVICE_NETWORK = '10.96';

/**
 * Source: the defaults of core/v1 and pkg/registry/core/service; for types other than ClusterIP, only their own fields
 * are missing.
 */
export const serviceRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  defaults: (service) => ({ ...service, spec: { ...SERVICE, ...service.spec, ...portsOf(service) } }),
  create: (service) => ({ ...service, spec: addressed(service), status: { loadBalancer: {} } }),
  update: (next, previous) => keepStatus({ ...next, spec: { ...next.spec, ...kept(previous.spec ?? {}) } }, previous),
  subresources: { status: statusOnly },
};

const SERVICE: JsonObject = { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' };

function addressed(service: KubeObject): JsonObject {
  const { spec = {} } = service;
  const clusterIP = asText(spec['clusterIP']) === '' ? serviceAddress(service.metadata.uid) : asText(spec['clusterIP']);
  return {
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ...spec,
    clusterIP,
    clusterIPs: [clusterIP],
  };
}

const portsOf = ({ spec }: KubeObject): JsonObject => ({
  ports: asList(spec?.['ports']).map((port): Json => {
    const given = asObject(port);
    return { protocol: 'TCP', targetPort: given['port'], ...given };
  }),
});

const kept = ({ clusterIP, clusterIPs }: JsonObject): JsonObject => ({ clusterIP, clusterIPs });

/** Derived from the UID, so that no allocations need to be stored. 10.96.0 has those of the node: the API and DNS. */
function serviceAddress(uid: string): string {
  const bits = Number.parseInt(uid.replaceAll('-', '').slice(0, 4), 16);
  return `${SERVICE_NETWORK}.${1 + ((bits >> 8) % 255)}.${2 + ((bits & 0xff) % 253)}`;
}
