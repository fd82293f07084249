import type { IncomingMessage } from 'node:http';
import { badRequest } from '@kubus/kube-objects';
import { type Authorizer, denied } from './authorization.ts';
import type { User } from './identity.ts';

/**
 * The user as whom a request is made (`kubectl --as`): its sender, unless it names another one. Source: the filter "impersonation" of
 * k8s.io/apiserver.
 *
 * @throws StatusError 400 for groups without a user; 403 for a sender who may not be that user, or in one of the groups.
 */
export function actingUser(sender: User, { headersDistinct }: IncomingMessage, authorize: Authorizer): User {
  const [username] = headersDistinct['impersonate-user'] ?? [];
  const asked = headersDistinct['impersonate-group'] ?? [];
  const [uid] = headersDistinct['impersonate-uid'] ?? [];
  if (username === undefined || username === '') {
    if (asked.length > 0 || uid !== undefined) throw badRequest('requested impersonation without impersonating a user');
    return sender;
  }
  const check = (resource: string, name: string, namespace = '', group = '') => {
    const attributes = { user: sender, verb: 'impersonate', group, resource, subresource: '', namespace, name };
    const reason = authorize(attributes);
    if (reason !== undefined) throw denied(attributes, reason);
  };
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  if (namespace !== undefined && account !== undefined) check('serviceaccounts', account, namespace);
  else check('users', username);
  for (const group of asked) check('groups', group);
  if (uid !== undefined) check('uids', uid, '', 'authentication.k8s.io');
  const ofAccount = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const groups = asked.length === 0 && namespace !== undefined ? ofAccount : asked;
  const known = username === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  return { username, ...(uid !== undefined && { uid }), groups: [...new Set([...groups, known])] };
}
