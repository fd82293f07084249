import * as z from 'zod';
import { parseDuration } from './duration.ts';
import { CredentialsError } from './errors.ts';

const versions = ['v1', 'v1beta1', 'v1alpha1'] as const;

/** The versions of the request and response that plugins speak. */
export const pluginApiVersions = versions.map((version) => `credentialprovider.kubelet.k8s.io/${version}` as const);
export type PluginApiVersion = (typeof pluginApiVersions)[number];

const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'is no duration such as 12h' });
  return z.NEVER;
});

/** An annotation's key: a name, with or without a DNS subdomain before it. */
const annotationKey = z
  .string()
  .regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?$/i, { error: 'is no key' });
const annotationKeys = z
  .array(annotationKey)
  .refine((keys) => new Set(keys).size === keys.length, { error: 'must name each key once' })
  .default([]);

const tokenAttributesSchema = z
  .strictObject({
    /** Who takes the token. */
    serviceAccountTokenAudience: z.string().min(1),
    /** What an answer may be kept for: every pod of the account, or the pod's token alone. */
    cacheType: z.enum(['ServiceAccount', 'Token']),
    /** False: it is asked for pods without an account too, without a token. */
    requireServiceAccount: z.boolean(),
    /** It is not asked for accounts without these annotations. */
    requiredServiceAccountAnnotationKeys: annotationKeys,
    optionalServiceAccountAnnotationKeys: annotationKeys,
  })
  .refine((it) => it.requireServiceAccount || it.requiredServiceAccountAnnotationKeys.length === 0, {
    error: 'must be empty where requireServiceAccount is false',
    path: ['requiredServiceAccountAnnotationKeys'],
  })
  .refine(
    ({ requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: optional }) =>
      !required.some((key) => optional.includes(key)),
    { error: 'a key can not be both required and optional' },
  );
export type TokenAttributes = z.infer<typeof tokenAttributesSchema>;

const providerSchema = z
  .strictObject({
    /** The program's name in the folder of plugins. */
    name: z.string().regex(/^(?!\.{1,2}$)[^/ ]+$/, { error: 'must be a file name without spaces' }),
    /** Which images it has credentials for; see `matchesRepository`. */
    matchImages: z.array(z.string()).min(1),
    /** Milliseconds; for answers that name none. */
    defaultCacheDuration: duration,
    apiVersion: z.enum(pluginApiVersions),
    args: z.array(z.string()).default([]),
    env: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
    /** It is given a token of the pod's service account (KEP-4412). */
    tokenAttributes: tokenAttributesSchema.optional(),
  })
  .refine(({ tokenAttributes, apiVersion }) => tokenAttributes === undefined || apiVersion === pluginApiVersions[0], {
    error: `is supported by ${pluginApiVersions[0]} only`,
    path: ['tokenAttributes'],
  });
export type CredentialProvider = z.infer<typeof providerSchema>;

const configSchema = z.strictObject({
  apiVersion: z.enum(versions.map((version) => `kubelet.config.k8s.io/${version}`)),
  kind: z.literal('CredentialProviderConfig'),
  providers: z.array(providerSchema).min(1),
});

/**
 * The credential providers of CredentialProviderConfig documents, by the names of their files (KEP-2133, KEP-4412).
 *
 * @throws CredentialsError `bad-provider-config` that names file and field.
 */
export function readProviders(documents: ReadonlyMap<string, unknown>): CredentialProvider[] {
  const providers: CredentialProvider[] = [];
  for (const [file, document] of documents) {
    const parsed = configSchema.safeParse(document);
    if (!parsed.success) {
      const fields = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      throw new CredentialsError('bad-provider-config', `${file}: ${fields}`);
    }
    for (const provider of parsed.data.providers) {
      if (providers.some(({ name }) => name === provider.name)) {
        throw new CredentialsError('bad-provider-config', `${file}: there are two providers named ${provider.name}`);
      }
      providers.push(provider);
    }
  }
  return providers;
}
