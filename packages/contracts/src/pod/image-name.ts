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

/** 64 hexadecimal digits alone are an image id, which is no name. */
const imageId = /^[a-f0-9]{64}$/;

function isRegistry(first: string): boolean {
  return /[.:]|^localhost$/.test(first) || first !== first.toLowerCase();
}

/**
 * Reads an image name, or returns undefined when it is none. The first part is a registry only if it has a dot or a
 * port, or is `localhost`, or has capitals; else it belongs to the path. Source: the grammar of the distribution project.
 */
export function parseImageName(text: string): ImageName | undefined {
  if (imageId.test(text)) return undefined;
  const match = grammar.exec(text);
  const [, domain, rest] = match ?? [];
  if (match === null || rest === undefined) return undefined;
  const registry = domain !== undefined && isRegistry(domain);
  return {
    domain: registry ? domain : undefined,
    path: registry || domain === undefined ? rest : `${domain}/${rest}`,
    tag: match[3],
    digest: match[4],
  };
}

/** What is wrong with a text that is no image name, in the words of the distribution project. */
export function imageNameProblem(text: string): string {
  if (imageId.test(text)) return `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`;
  const slash = text.indexOf('/');
  const rest = slash >= 0 && isRegistry(text.slice(0, slash)) ? text.slice(slash + 1) : text;
  const [repository = ''] = rest.split(':');
  const problem = 'invalid reference format';
  return repository === repository.toLowerCase()
    ? problem
    : `${problem}: repository name (${repository}) must be lowercase`;
}
