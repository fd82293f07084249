import { parseGoDuration } from '@kubus/pod';
import * as z from 'zod';
import type { DockerConfig } from './docker-config.ts';
import { CredentialsError } from './errors.ts';
import { type CredentialProvider, type TokenAttributes, pluginApiVersions } from './provider-config.ts';
import { matchesRepository, registryOf } from './registry-match.ts';

/** The service account for which a plugin that requires its token is called. */
export interface TokenBearer {
  readonly token: string;
  /** Those annotations of the service account that the plugin requires. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** A plugin's request, on its standard input. */
export function pluginRequest(provider: CredentialProvider, repository: string, bearer?: TokenBearer): string {
  const { apiVersion } = provider;
  const account = bearer && { serviceAccountToken: bearer.token, serviceAccountAnnotations: bearer.annotations };
  return JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image: repository, ...account });
}

/** The annotations of a service account that a plugin requires; undefined when a required one is missing, so that the plugin is not called. */
export function wantedAnnotations(
  wanted: Pick<TokenAttributes, 'requiredServiceAccountAnnotationKeys' | 'optionalServiceAccountAnnotationKeys'>,
  annotations: Readonly<Record<string, string>>,
): Record<string, string> | undefined {
  const { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: optional } = wanted;
  const found = new Map(Object.entries(annotations));
  if (!required.every((key) => found.has(key))) return undefined;
  return Object.fromEntries([...required, ...optional].flatMap((key) => entryOf(key, found.get(key))));
}

function entryOf(key: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[key, value]];
}

const responseSchema = z.object({
  kind: z.literal('CredentialProviderResponse'),
  apiVersion: z.enum(pluginApiVersions),
  cacheKeyType: z.enum(['Image', 'Registry', 'Global']),
  /** Missing: the provider's default. `0s`: the plugin is called again each time. */
  cacheDuration: z.string().nullish(),
  auth: z.record(z.string(), z.object({ username: z.string(), password: z.string() })).nullish(),
});

/** A plugin's answer, and how long it is valid. */
export interface PluginAnswer {
  readonly config: DockerConfig;
  /** The images for which it is valid; see {@link cacheKeys}. */
  readonly cacheKey: string;
  /** Milliseconds; 0: not to be cached. */
  readonly keepMs: number;
}

/** No registry or image has such a name. */
const EVERYTHING = '<global>';

/**
 * Parses a plugin's response.
 *
 * @throws CredentialsError `bad-plugin-answer`, without the response itself, which may contain credentials.
 */
export function readPluginAnswer(
  provider: CredentialProvider,
  repository: string,
  text: string,
  bearer?: TokenBearer,
): PluginAnswer {
  const refuse = (why: string) =>
    new CredentialsError('bad-plugin-answer', `the answer of credential provider ${provider.name} ${why}`);
  let response: z.infer<typeof responseSchema>;
  try {
    response = responseSchema.parse(JSON.parse(text));
  } catch {
    throw refuse('is not a CredentialProviderResponse');
  }
  const { apiVersion, cacheKeyType, cacheDuration, auth } = response;
  if (apiVersion !== provider.apiVersion) throw refuse(`has the apiVersion ${apiVersion}, not ${provider.apiVersion}`);
  const keepMs = typeof cacheDuration === 'string' ? parseGoDuration(cacheDuration) : provider.defaultCacheDuration;
  if (keepMs === undefined || keepMs < 0) throw refuse('has an invalid cacheDuration');
  const passesToken = Object.values(auth ?? {}).some(({ password }) => password === bearer?.token);
  if (passesToken && provider.tokenAttributes?.cacheType !== 'Token') {
    throw refuse('contains the token itself as the password, which requires the cacheType Token');
  }
  const keys = { Image: repository, Registry: registryOf(repository), Global: EVERYTHING };
  return { config: new Map(Object.entries(auth ?? {})), cacheKey: keys[cacheKeyType], keepMs };
}

/** The keys under which an answer for this repository may be cached, the narrowest first. */
export function cacheKeys(repository: string): string[] {
  return [repository, registryOf(repository), EVERYTHING];
}

/** Whether the plugin provides credentials for the repository. */
export function isFor(provider: CredentialProvider, repository: string): boolean {
  return provider.matchImages.some((pattern) => matchesRepository(pattern, repository));
}
