import { type AccessRequest, type StatusError, failure } from '@kubus/kube-objects';
import type { User } from './identity.ts';
import type { RequestInfo } from './request-info.ts';

/** The attributes of a request to be authorized. Empty where it does not apply. */
export interface AccessAttributes extends AccessRequest {
  readonly user: User;
}

/** A test's rules: undefined allows; a text denies, and is the authorizer's reason (it may be empty). */
export type Authorizer = (attributes: AccessAttributes) => string | undefined;

export function attributesOf(info: RequestInfo, user: User): AccessAttributes {
  const { verb, group, plural, namespace, query } = info;
  // The rest is the path behind a proxy.
  const [subresource = ''] = info.subresource.split('/');
  // The object of a list or watch of a single object, taken from the field selector as in the reference.
  const fieldSelector = query.get('fieldSelector') ?? '';
  const [, selected = ''] = /^metadata\.name=([^,]+)$/.exec(fieldSelector) ?? [];
  const name = info.name === '' ? selected : info.name;
  const attributes = { user, verb, group, resource: plural, subresource, namespace, name };
  return fieldSelector === '' ? attributes : { ...attributes, fieldSelector };
}

/** The error for a denied request that is not about objects. */
export function deniedPath({ path, method }: RequestInfo, { username }: User): StatusError {
  return failure(403, 'Forbidden', `forbidden: User "${username}" cannot ${method.toLowerCase()} path "${path}"`, {});
}

/** The error for a denied request. Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters. */
export function denied(
  { user, verb, group, resource, subresource, namespace, name }: AccessAttributes,
  reason: string,
): StatusError {
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const subject = group === '' ? what : `${what}.${group}`;
  const named = name === '' ? '' : ` "${name}"`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = reason === '' ? '' : `: ${reason}`;
  const message = `${subject}${named} is forbidden: User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}${why}`;
  const details = { ...(name !== '' && { name }), ...(group !== '' && { group }), kind: what };
  return failure(403, 'Forbidden', message, details);
}
