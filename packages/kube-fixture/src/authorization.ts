import type { User } from './identity.ts';
import type { RequestInfo } from './request-info.ts';
import { type StatusError, failure } from './status.ts';

/** What somebody wants to do. Empty where it does not apply. */
export interface AccessAttributes {
  readonly user: User;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A test's rules: undefined allows; a text denies and says why, as an authorizer's reason (it may be empty). */
export type Authorizer = (attributes: AccessAttributes) => string | undefined;

export function attributesOf(info: RequestInfo, user: User): AccessAttributes {
  const { verb, group, plural, namespace, query } = info;
  // What follows it is the path of what is behind a proxy.
  const [subresource = ''] = info.subresource.split('/');
  // Of a list or watch that is about one object, as the reference takes it from the field selector.
  const [, selected = ''] = /^metadata\.name=([^,]+)$/.exec(query.get('fieldSelector') ?? '') ?? [];
  const name = info.name === '' ? selected : info.name;
  return { user, verb, group, resource: plural, subresource, namespace, name };
}

/** The error that a denied request is answered with. Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters. */
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
