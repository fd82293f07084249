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
 * Reads an image name, or returns undefined when it is none. The first part is a registry only if it has a dot or a
 * port, or is `localhost`, or has capitals; else it belongs to the path. Source: the grammar of the distribution project.
 */
export function parseImageName(text: string): ImageName | undefined {
  // 64 hexadecimal digits alone are an image id, which is no name.
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
