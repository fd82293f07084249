import * as z from 'zod';

/** The requested token of a service account (TokenRequest of authentication.k8s.io/v1). */
export const tokenQuestionSchema = z.strictObject({
  /** The audiences of the token. None: the API server. */
  audiences: z.array(z.string()).default([]),
  /** Default: the API server's choice. */
  expirationSeconds: z.int().positive().optional(),
  /** The pod that the token is bound to; it has to be on this node. */
  pod: z.strictObject({ name: z.string(), uid: z.string() }),
  /** Only of the account with this UID, not of another one with its name. */
  serviceAccountUid: z.string().optional(),
});
export type TokenQuestion = z.input<typeof tokenQuestionSchema>;

/** A token. Must never be logged, sent over the bus or stored. */
export const serviceAccountTokenSchema = z.object({
  token: z.string(),
  /** RFC 3339. */
  expirationTimestamp: z.iso.datetime(),
  /** RFC 3339: when a caller that needs a token for longer must request it again. */
  refreshTimestamp: z.iso.datetime(),
});
export type ServiceAccountToken = z.infer<typeof serviceAccountTokenSchema>;

/** What credential providers receive about a service account. */
export const serviceAccountSchema = z.object({
  uid: z.string(),
  annotations: z.record(z.string(), z.string()),
});
export type ServiceAccount = z.infer<typeof serviceAccountSchema>;

/** The body of an unsuccessful response. */
export const refusalSchema = z.object({ message: z.string() });
