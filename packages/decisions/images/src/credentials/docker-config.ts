import * as z from 'zod';
import { CredentialsError } from './errors.ts';

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Logins by registry, or registry and path, as written. */
export type DockerConfig = ReadonlyMap<string, Login>;

const entrySchema = z.object({
  username: z.string().default(''),
  password: z.string().default(''),
  auth: z.string().default(''),
});
const entriesSchema = z.record(z.string(), entrySchema);
const configSchema = z.object({ auths: entriesSchema.nullish() });

/**
 * Parses the content of `~/.docker/config.json`, or of the key `.dockerconfigjson` of a Secret.
 *
 * @param where names the document in errors
 * @throws CredentialsError `bad-docker-config`
 */
export function parseDockerConfigJson(text: string, where: string): DockerConfig {
  return loginsOf(parse(configSchema, text, where).auths ?? {}, where);
}

/** Parses the older form: the content of `~/.dockercfg`, or of the key `.dockercfg` of a Secret. */
export function parseDockerCfg(text: string, where: string): DockerConfig {
  return loginsOf(parse(entriesSchema, text, where), where);
}

function parse<T>(schema: z.ZodType<T>, text: string, where: string): T {
  // Neither the parser's nor the schema's message is passed on, because both may quote the document.
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new CredentialsError('bad-docker-config', `${where} is not a docker configuration`);
  }
}

function loginsOf(entries: z.infer<typeof entriesSchema>, where: string): DockerConfig {
  return new Map(
    Object.entries(entries).map(([registry, { username, password, auth }]) => [
      registry,
      auth === '' ? { username, password } : loginOf(auth, registry, where),
    ]),
  );
}

/** `auth` is base64 of `username:password`; it takes precedence over the fields of those names. */
function loginOf(auth: string, registry: string, where: string): Login {
  const text = decodeBase64(auth);
  const colon = text?.indexOf(':') ?? -1;
  if (text === undefined || colon === -1) {
    const message = `${where}: the field auth of "${registry}" must be base64 of username:password`;
    throw new CredentialsError('bad-docker-config', message);
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function decodeBase64(text: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
