import { KubusError } from '@kubus/ports';
import * as z from 'zod';
import { type User, asAuthenticated } from './user.ts';

/** Thrown when the API server's review of a credential or a request cannot be used. */
class ReviewError extends KubusError {}

const tokenAnswerSchema = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    user: z
      .object({
        username: z.string().default(''),
        uid: z.string().optional(),
        groups: z.array(z.string()).nullish(),
        extra: z.record(z.string(), z.array(z.string())).nullish(),
      })
      .optional(),
  }),
});

/** The TokenReview of a token (authentication.k8s.io/v1). */
export function tokenReview(token: string): object {
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
}

/** The user of a token by its TokenReview; undefined when it is not authenticated. Throws {@link ReviewError}. */
export function reviewedUser(answer: unknown): User | undefined {
  const { authenticated, user } = parse(tokenAnswerSchema, answer, 'TokenReview').status;
  if (!authenticated) return undefined;
  if (user === undefined || user.username === '') {
    throw new ReviewError('bad-answer', 'the TokenReview authenticates the token, but names no user');
  }
  const { username: name, uid, groups, extra } = user;
  return asAuthenticated({ name, uid, groups: groups ?? [], extra: extra ?? {} });
}

const accessAnswerSchema = z.object({
  status: z.object({ allowed: z.boolean(), denied: z.boolean().default(false) }),
});

/** A review of whether a user has access to a subresource of the node (authorization.k8s.io/v1 SubjectAccessReview). */
export function accessReview(user: User, node: string, verb: string, subresource: string): object {
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: user.name,
      ...(user.uid !== undefined && user.uid !== '' && { uid: user.uid }),
      groups: user.groups,
      extra: user.extra,
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: node },
    },
  };
}

/** Whether the answer allows the request. Throws {@link ReviewError} for an answer that both allows and denies it. */
export function isAllowed(answer: unknown): boolean {
  const { allowed, denied } = parse(accessAnswerSchema, answer, 'SubjectAccessReview').status;
  if (allowed && denied) {
    throw new ReviewError('bad-answer', 'the SubjectAccessReview both allows and denies the request');
  }
  return allowed;
}

function parse<T>(schema: z.ZodType<T>, answer: unknown, kind: string): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new ReviewError('bad-answer', `the answer is not a ${kind}: ${z.prettifyError(parsed.error)}`);
}
