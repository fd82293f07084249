import {
  asList,
  asObject,
  asText,
  badRequest,
  grantedRules,
  isPathAllowed,
  type JsonObject,
  type Review,
  reviewedRequest,
  rulesOf,
} from '@kubus/kube-objects';
import { rolesIn } from './api-authorizer.ts';
import type { Authorizer } from './authorization.ts';
import type { Registry } from './registry.ts';
import { type Identities, type User, userInfo } from './identity.ts';

interface ReviewParts {
  readonly registry: Registry;
  readonly identities: Identities;
  readonly authorize: Authorizer;
}

/**
 * Answers a review: the user of a token, or what a user may do.
 *
 * @param namespace of the path; empty: none.
 * @throws StatusError 400, 422.
 */
export function answerReview(
  review: Review,
  body: JsonObject,
  asker: User,
  { namespace, ...server }: ReviewParts & { readonly namespace: string },
): JsonObject {
  return {
    ...body,
    kind: review.kind,
    apiVersion: `${review.group}/v1`,
    metadata: asObject(body['metadata']),
    status: statusOf(review, body, asker, { namespace, ...server }),
  };
}

function statusOf(
  review: Review,
  body: JsonObject,
  asker: User,
  { registry, identities, authorize, namespace }: ReviewParts & { readonly namespace: string },
): JsonObject {
  const spec = asObject(body['spec']);
  switch (review.kind) {
    case 'TokenReview': {
      const user = identities.byToken(asText(spec['token']), asList(spec['audiences']).map(asText));
      if (user === undefined) return { user: {}, error: 'invalid bearer token' };
      return { authenticated: true, user: userInfo(user), audiences: spec['audiences'] };
    }
    case 'SelfSubjectReview':
      return { userInfo: userInfo(asker) };
    case 'SelfSubjectRulesReview':
      if (asText(spec['namespace']) === '') throw badRequest('no namespace on request');
      return rulesOf(asker, grantedRules(asker, asText(spec['namespace']), rolesIn(registry.store)));
    default: {
      const { user = asker, path, evaluationError, ...attributes } = reviewedRequest(review, body, namespace);
      const isAllowed = path === undefined ? undefined : isPathAllowed({ user, verb: attributes.verb, path });
      const denied = isAllowed === undefined ? authorize({ user, ...attributes }) : isAllowed ? undefined : '';
      return {
        allowed: denied === undefined,
        ...(denied !== undefined && denied !== '' && { reason: denied }),
        ...(evaluationError !== '' && { evaluationError }),
      };
    }
  }
}
