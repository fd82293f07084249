import * as z from 'zod';

/** Which token of a service account is asked for (TokenRequest of authentication.k8s.io/v1). */
export const tokenQuestionSchema = z.strictObject({
  /** Who is to take the token. None: the API server. */
  audiences: z.array(z.string()).default([]),
  /** Left out: the API server's own choice. */
  expirationSeconds: z.int().positive().optional(),
  /** The pod that the token is bound to; it has to be on this node. */
  pod: z.strictObject({ name: z.string(), uid: z.string() }),
  /** The token is wanted only of the account with this UID, not of another one of its name. */
  serviceAccountUid: z.string().optional(),
});
export type TokenQuestion = z.input<typeof tokenQuestionSchema>;

/** A token. Never to be logged, sent over the bus or stored. */
export const serviceAccountTokenSchema = z.object({
  token: z.string(),
  /** RFC 3339. */
  expirationTimestamp: z.iso.datetime(),
  /** RFC 3339: when whoever needs a token for longer is to ask again. */
  refreshTimestamp: z.iso.datetime(),
});
export type ServiceAccountToken = z.infer<typeof serviceAccountTokenSchema>;

/** What credential providers hear of a service account. */
export const serviceAccountSchema = z.object({
  uid: z.string(),
  annotations: z.record(z.string(), z.string()),
});
export type ServiceAccount = z.infer<typeof serviceAccountSchema>;

/** The body of an answer that is no success. */
export const refusalSchema = z.object({ message: z.string() });
