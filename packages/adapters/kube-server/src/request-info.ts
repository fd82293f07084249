import {
  badRequest,
  type Resource,
  resources,
  type Review,
  reviews,
  type UsageResource,
  usageResources,
} from '@kubus/kube-objects';

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection' | 'other';

/** The attributes of a request, from its method and URL only. Source: k8s.io/apiserver/pkg/endpoints/request. */
export interface RequestInfo {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** `other`: not about objects, such as discovery. */
  readonly verb: Verb;
  /** Empty for the core group, and for requests that are not about objects. */
  readonly group: string;
  /** `pods`; empty for requests that are not about objects. */
  readonly plural: string;
  /** Empty: none named. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** Whether a parameter is set: by any value but `false` and `0`, as in the reference (k8s.io/apimachinery, conversion of queries). */
export function isSet(query: URLSearchParams, parameter: string): boolean {
  const value = query.get(parameter);
  return value !== null && !['false', '0'].includes(value.toLowerCase());
}

/** Its handler: a stored kind, a review, a kind that is measured, or none. */
export function servedBy({ group, plural }: RequestInfo): Served {
  const same = (one: Pick<Resource, 'group' | 'plural'>) => one.group === group && one.plural === plural;
  const resource = resources.find(same);
  const review = reviews.find(same);
  const usage = usageResources.find(same);
  return { ...(resource && { resource }), ...(review && { review }), ...(usage && { usage }) };
}

interface Served {
  readonly resource?: Resource;
  readonly review?: Review;
  readonly usage?: UsageResource;
}

/** @param url path and query. @throws StatusError 400 for one that cannot be decoded. */
export function requestInfo(method: string, url: string): RequestInfo {
  const parsed = URL.parse(`http://server${url}`);
  if (parsed === null || !url.startsWith('/')) throw badRequest('the path of the request cannot be read');
  const { pathname: path, searchParams: query } = parsed;
  const none: RequestInfo = {
    method,
    path,
    query,
    verb: 'other',
    group: '',
    plural: '',
    namespace: '',
    name: '',
    subresource: '',
  };
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
  const [root, ...rest] = parts;
  const [group = '', version] = root === 'api' ? ['', rest[0]] : [rest[0], rest[1]];
  const inner = rest.slice(root === 'api' ? 1 : 2);
  if ((root !== 'api' && root !== 'apis') || version === undefined || inner.length === 0) return none;
  // `namespaces/x/pods` is about pods, `namespaces/x` and `namespaces/x/status` are about the namespace itself.
  const within = inner[0] === 'namespaces' && inner.length > 2 && !['status', 'finalize'].includes(inner[2] ?? '');
  const [plural = '', name = '', ...subresource] = within ? inner.slice(2) : inner;
  const verb = verbOf(method, name, query);
  return {
    ...none,
    verb,
    group,
    plural,
    name,
    subresource: subresource.join('/'),
    namespace: within ? (inner[1] ?? '') : '',
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`the path has an invalid escape: ${part}`);
  }
}

function verbOf(method: string, name: string, query: URLSearchParams): Verb {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isSet(query, 'watch')) return 'watch';
      return name === '' ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      return 'other';
  }
}
