import { parseGoDuration } from '@kubus/pod';
import * as z from 'zod';
import { CredentialsError } from './errors.ts';

const versions = ['v1', 'v1beta1', 'v1alpha1'] as const;

/** The versions of the request and response that plugins support. */
export const pluginApiVersions = versions.map((version) => `credentialprovider.kubelet.k8s.io/${version}` as const);

const duration = z.string().transform((text, context) => {
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= 0) return ms;
  context.addIssue({ code: 'custom', message: 'is not a duration such as 12h' });
  return z.NEVER;
});

/** An annotation key: a name, with or without a DNS subdomain as prefix. */
const annotationKey = z.string().regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?$/i, {
  error: 'is not an annotation key',
});
const annotationKeys = z
  .array(annotationKey)
  .refine((keys) => new Set(keys).size === keys.length, { error: 'must name each key once' })
  .default([]);

const tokenAttributesSchema = z
  .strictObject({
    /** The audience of the token. */
    serviceAccountTokenAudience: z.string().min(1),
    /** For what an answer may be cached: every pod of the account, or only the pod whose token was passed. */
    cacheType: z.enum(['ServiceAccount', 'Token']),
    /** False: the plugin is also called for pods without an account, without a token. */
    requireServiceAccount: z.boolean(),
    /** The plugin is not called for accounts without these annotations. */
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
    { error: 'a key cannot be both required and optional' },
  );
export type TokenAttributes = z.infer<typeof tokenAttributesSchema>;

const providerSchema = z
  .strictObject({
    /** The program's name in the plugin folder. */
    name: z.string().regex(/^(?!\.{1,2}$)[^/ ]+$/, { error: 'must be a file name without spaces' }),
    /** The images for which it provides credentials; see `matchesRepository`. */
    matchImages: z.array(z.string()).min(1),
    /** Milliseconds; for answers without a duration. */
    defaultCacheDuration: duration,
    apiVersion: z.enum(pluginApiVersions),
    args: z.array(z.string()).default([]),
    env: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
    /** The plugin receives a token of the pod's service account (KEP-4412). */
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
 * @throws CredentialsError `bad-provider-config`, naming the file and the field.
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
