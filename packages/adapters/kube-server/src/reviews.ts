import { asList, asObject, asText, type JsonObject, type Review } from '@kubus/kube-objects';
import type { Authorizer } from './authorization.ts';
import { type Identities, type User, userInfo } from './identity.ts';

/** Answers a review: the user of a token, or whether a user has a permission. */
export function answerReview(
  review: Review,
  body: JsonObject,
  asker: User,
  server: { identities: Identities; authorize: Authorizer },
): JsonObject {
  const spec = asObject(body['spec']);
  return {
    ...body,
    kind: review.kind,
    apiVersion: `${review.group}/v1`,
    status: statusOf(review, spec, asker, server),
  };
}

function statusOf(
  { kind }: Review,
  spec: JsonObject,
  asker: User,
  { identities, authorize }: { identities: Identities; authorize: Authorizer },
): JsonObject {
  switch (kind) {
    case 'TokenReview': {
      const user = identities.byToken(asText(spec['token']), asList(spec['audiences']).map(asText));
      if (user === undefined) return { user: {}, error: 'invalid bearer token' };
      return { authenticated: true, user: userInfo(user), audiences: spec['audiences'] };
    }
    case 'SelfSubjectReview':
      return { userInfo: userInfo(asker) };
    default: {
      const own = kind === 'SelfSubjectAccessReview';
      const groups = asList(spec['groups']).map(asText);
      const user = own ? asker : { username: asText(spec['user']), groups };
      const { namespace, verb, group, resource, subresource, name } = asObject(spec['resourceAttributes']);
      const denied = authorize({
        user,
        verb: asText(verb),
        group: asText(group),
        resource: asText(resource),
        subresource: asText(subresource),
        namespace: asText(namespace),
        name: asText(name),
      });
      return { allowed: denied === undefined, ...(denied !== undefined && { reason: denied }) };
    }
  }
}
