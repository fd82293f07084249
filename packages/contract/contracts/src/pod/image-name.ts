/** The parts of a reference to a container image. `domain` and `tag` are as written, without defaults. */
export interface ImageName {
  /** Registry host, with its port if there is one. */
  readonly domain: string | undefined;
  /** Repository within the registry, such as `library/busybox`. */
  readonly path: string;
  readonly tag: string | undefined;
  /** `<algorithm>:<hex>`. */
  readonly digest: string | undefined;
}

const label = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const host = String.raw`(?:${label}(?:\.${label})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`;
const part = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const path = `${part}(?:/${part})*`;
const tag = String.raw`[\w][\w.-]{0,127}`;
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const grammar = new RegExp(`^(?:(${host})/)?(${path})(?::(${tag}))?(?:@(${digest}))?$`);

/**
 * Parses an image name, or returns undefined when it is not one. The first part is a registry only if it contains a dot or a
 * colon, is `localhost`, or has upper-case letters; otherwise it belongs to the path. Source: the grammar of the distribution project.
 */
export function parseImageName(text: string): ImageName | undefined {
  // 64 hexadecimal digits alone are an image id, which is not a name.
  if (/^[a-f0-9]{64}$/.test(text)) return undefined;
  const match = grammar.exec(text);
  const [, domain, rest] = match ?? [];
  if (match === null || rest === undefined) return undefined;
  const registry = domain !== undefined && (/[.:]|^localhost$/.test(domain) || domain !== domain.toLowerCase());
  return {
    domain: registry ? domain : undefined,
    path: registry || domain === undefined ? rest : `${domain}/${rest}`,
    tag: match[3],
    digest: match[4],
  };
}

/** The name without tag and digest, otherwise as written; undefined for a text that is not an image name. */
export function bareImageName(text: string): string | undefined {
  const name = parseImageName(text);
  if (name === undefined) return undefined;
  return name.domain === undefined ? name.path : `${name.domain}/${name.path}`;
}

/** Registry and path, completed where a short name omits them: `busybox:1` is `docker.io/library/busybox`. */
export function repositoryOf(text: string): string | undefined {
  const name = parseImageName(text);
  if (name === undefined) return undefined;
  const { domain = 'docker.io', path } = name;
  if (domain !== 'docker.io' && domain !== 'index.docker.io') return `${domain}/${path}`;
  return `docker.io/${path.includes('/') ? path : `library/${path}`}`;
}

/** Why a text is not an image name, in the words of the distribution project's parser; undefined for a valid name. */
export function imageNameProblem(text: string): string | undefined {
  if (parseImageName(text) !== undefined) return undefined;
  if (/^[a-f0-9]{64}$/.test(text)) {
    return `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`;
  }
  const slash = text.indexOf('/');
  const first = text.slice(0, Math.max(0, slash));
  const hasDomain = slash !== -1 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const path = (hasDomain ? text.slice(slash + 1) : text).split(':', 1)[0] ?? '';
  // A name without a path is an official image of Docker Hub.
  if (path === path.toLowerCase()) return 'invalid reference format';
  const whole = hasDomain || path.includes('/') ? path : `library/${path}`;
  return `invalid reference format: repository name (${whole}) must be lowercase`;
}
