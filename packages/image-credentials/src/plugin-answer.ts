import * as z from 'zod';
import type { DockerConfig } from './docker-config.ts';
import { parseDuration } from './duration.ts';
import { CredentialsError } from './errors.ts';
import { type CredentialProvider, type TokenAttributes, pluginApiVersions } from './provider-config.ts';
import { matchesRepository, registryOf } from './registry-match.ts';

/** For whom a plugin is asked that wants a token of the pod's service account. */
export interface TokenBearer {
  readonly token: string;
  /** Of the service account: those that the plugin wants. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** What a plugin is asked, on its standard input. */
export function pluginRequest(provider: CredentialProvider, repository: string, bearer?: TokenBearer): string {
  const { apiVersion } = provider;
  const account = bearer && { serviceAccountToken: bearer.token, serviceAccountAnnotations: bearer.annotations };
  return JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image: repository, ...account });
}

/** Those of a service account's annotations that a plugin wants; undefined when one is missing without which it is not asked. */
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
  /** Missing: the provider's default. `0s`: to be asked again each time. */
  cacheDuration: z.string().nullish(),
  auth: z.record(z.string(), z.object({ username: z.string(), password: z.string() })).nullish(),
});

/** What a plugin has answered, and for how long it counts. */
export interface PluginAnswer {
  readonly config: DockerConfig;
  /** Which images it is for; see {@link cacheKeys}. */
  readonly cacheKey: string;
  /** Milliseconds; 0: not to be kept. */
  readonly keepMs: number;
}

/** No registry or image has a name like this. */
const EVERYTHING = '<global>';

/**
 * Reads what a plugin wrote.
 *
 * @throws CredentialsError `bad-plugin-answer`, without what was written: it may hold credentials.
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
    throw refuse('is no CredentialProviderResponse');
  }
  const { apiVersion, cacheKeyType, cacheDuration, auth } = response;
  if (apiVersion !== provider.apiVersion) throw refuse(`has the apiVersion ${apiVersion}, not ${provider.apiVersion}`);
  const keepMs = typeof cacheDuration === 'string' ? parseDuration(cacheDuration) : provider.defaultCacheDuration;
  if (keepMs === undefined) throw refuse('has a cacheDuration that is none');
  const passesToken = Object.values(auth ?? {}).some(({ password }) => password === bearer?.token);
  if (passesToken && provider.tokenAttributes?.cacheType !== 'Token') {
    throw refuse('has the token itself as the password, which needs the cacheType Token');
  }
  const keys = { Image: repository, Registry: registryOf(repository), Global: EVERYTHING };
  return { config: new Map(Object.entries(auth ?? {})), cacheKey: keys[cacheKeyType], keepMs };
}

/** Under which keys an answer that is for this repository may be kept, the narrowest first. */
export function cacheKeys(repository: string): string[] {
  return [repository, registryOf(repository), EVERYTHING];
}

/** Whether the plugin says it has credentials for the repository. */
export function isFor(provider: CredentialProvider, repository: string): boolean {
  return provider.matchImages.some((pattern) => matchesRepository(pattern, repository));
}
