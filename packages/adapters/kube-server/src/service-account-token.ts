import { type KeyObject, createHash, createPublicKey, sign, verify } from 'node:crypto';
import {
  type Json,
  type JsonObject,
  asList,
  asObject,
  asText,
  at,
  conflict,
  resourceOfKind,
} from '@kubus/kube-objects';
import { timeOfMs } from '@kubus/pod';
import type { User } from './identity.ts';
import type { Registry } from './registry.ts';
import type { Target } from './target.ts';

const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const LIFETIME_SECONDS = 3600;

/** The issuer of service account tokens. */
export interface TokenIssuer {
  readonly registry: Registry;
  /** An elliptic curve key. */
  readonly key: KeyObject;
}

/**
 * Answers a TokenRequest with a signed token (KEP-1205).
 *
 * @param target the service account.
 * @throws StatusError 403 for a node whose pod it is not for; 404 when the account or the bound pod does not exist; 409 for another pod of
 *   that name.
 */
export function answerTokenRequest(issuer: TokenIssuer, target: Target, body: JsonObject, user: User): JsonObject {
  const { registry, key } = issuer;
  const account = registry.get({ ...target, subresource: '' });
  registry.admit({ operation: 'create', ...target, object: body, previous: undefined }, user);
  const spec = asObject(body['spec']);
  const { expirationSeconds } = spec;
  const seconds = typeof expirationSeconds === 'number' ? expirationSeconds : LIFETIME_SECONDS;
  const pod = boundPod(registry, target.namespace, asObject(spec['boundObjectRef']));
  const audiences = asList(spec['audiences']).length === 0 ? [ISSUER] : asList(spec['audiences']);
  const now = Math.floor(registry.now() / 1000);
  const { namespace } = target;
  const { name, uid } = account.metadata;
  const token = jwt(key, {
    aud: audiences,
    exp: now + seconds,
    iat: now,
    nbf: now,
    iss: ISSUER,
    jti: createHash('sha256')
      .update(`${uid} ${registry.store.version} ${performance.now()}`)
      .digest('hex')
      .slice(0, 32),
    'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...(pod && { pod }) },
    sub: `system:serviceaccount:${namespace}:${name}`,
  });
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timeOfMs(registry.now()) },
    spec: { ...spec, audiences, expirationSeconds: seconds },
    status: { token, expirationTimestamp: timeOfMs((now + seconds) * 1000) },
  };
}

function boundPod(registry: Registry, namespace: string, reference: JsonObject): JsonObject | undefined {
  if (asText(reference['kind']) !== 'Pod') return undefined;
  const resource = resourceOfKind('Pod');
  const name = asText(reference['name']);
  const uid = asText(reference['uid']);
  if (resource === undefined) return undefined;
  const pod = registry.get({ resource, namespace, name, subresource: '' });
  if (uid !== '' && uid !== pod.metadata.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict(resource, name, why);
  }
  return { name, uid: pod.metadata.uid };
}

/** A JSON web token, RFC 7519, signed with ES256. */
function jwt(key: KeyObject, claims: JsonObject): string {
  const part = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'ES256', kid: 'kubus' })}.${part(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

/**
 * The user of a token that is signed, for one of these audiences, has not expired, and whose account and pod still exist; undefined for any
 * other text.
 *
 * @param audiences empty: the API server.
 */
export function tokenUser(
  { registry, key }: TokenIssuer,
  token: string,
  audiences: readonly string[] = [],
): User | undefined {
  const [header = '', claims = '', signature = '', ...rest] = token.split('.');
  if (signature === '' || rest.length > 0) return undefined;
  const signed = Buffer.from(`${header}.${claims}`);
  const way = { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' as const };
  if (!verify('sha256', signed, way, Buffer.from(signature, 'base64url'))) return undefined;
  const said = asObject(JSON.parse(Buffer.from(claims, 'base64url').toString()) as Json);
  if (Number(said['exp']) * 1000 <= registry.now()) return undefined;
  const wanted = audiences.length === 0 ? [ISSUER] : audiences;
  if (!asList(said['aud']).some((one) => wanted.includes(asText(one)))) return undefined;
  const { namespace: within, serviceaccount, pod } = asObject(said['kubernetes.io']);
  const namespace = asText(within);
  const name = asText(at(serviceaccount, 'name'));
  const uid = asText(at(serviceaccount, 'uid'));
  const exists = (table: string, one: Json | undefined) =>
    registry.store.get(table, `${namespace}/${asText(at(one, 'name'))}`)?.metadata.uid === at(one, 'uid');
  if (!exists('serviceaccounts', serviceaccount) || (pod !== undefined && !exists('pods', pod))) return undefined;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  return { username: `system:serviceaccount:${namespace}:${name}`, uid, groups };
}
