/** The attributes of a request to the node's API by which it is authorized. */
export interface RequestAttributes {
  /** The API's verb; empty for a method that has none. */
  readonly verb: string;
  /** Subresources of the Node object; access to any of them is sufficient. */
  readonly subresources: readonly string[];
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Path prefixes and their subresources. Everything else is `proxy`. */
const subresources: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/pods', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/configz', ['configz', 'proxy']],
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
  ['/statusz', ['statusz']],
  ['/flagz', ['configz']],
];

/**
 * The verb and the subresources that a request requires (behaviour:http-api).
 *
 * @param path of the request, or the pattern of the route that serves it; without the query
 */
export function requestAttributes(method: string, path: string): RequestAttributes {
  const found = subresources.find(([begin]) => path === begin || path.startsWith(`${begin}/`));
  return { verb: verbs[method] ?? '', subresources: found?.[1] ?? ['proxy'] };
}

/** The response to a user who has access to none of the subresources. */
export function forbiddenText(user: string, { verb, subresources }: RequestAttributes): string {
  return `Forbidden (user=${user}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`;
}

/** The response when it cannot be determined whether a user has access to a subresource. */
export function authorizationErrorText(user: string, verb: string, subresource: string): string {
  return `Authorization error (user=${user}, verb=${verb}, resource=nodes, subresource=${subresource})`;
}
