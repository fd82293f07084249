import type { JsonObject } from './json.ts';
import type { RequestInfo } from './request-info.ts';
import { apiVersionOf, resources, reviews } from './resources.ts';

/** What clients take the server for. */
export const SERVER_VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.2-kubus-test',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux/amd64',
};

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Subresources that are asked with an object of another kind. */
const SUBRESOURCE_KINDS: Readonly<Record<string, JsonObject>> = {
  'pods/eviction': { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
  'pods/binding': { kind: 'Binding', verbs: ['create'] },
  'pods/log': { kind: 'Pod', verbs: ['get'] },
  'serviceaccounts/token': {
    kind: 'TokenRequest',
    group: 'authentication.k8s.io',
    version: 'v1',
    verbs: ['create'],
  },
};

/** The answer to a request that is not about objects; undefined: no such path. Source: API concepts, "Discovery". */
export function discover({ path }: RequestInfo): JsonObject | undefined {
  const groups = [...new Set([...resources, ...reviews].map(({ group }) => group))].filter((group) => group !== '');
  if (path === '/version') return SERVER_VERSION;
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/api/v1') return resourceList('');
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupOf) };
  const [, group = '', version] = /^\/apis\/([^/]+)(?:\/(v1))?$/.exec(path) ?? [];
  if (!groups.includes(group)) return undefined;
  return version === undefined ? { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) } : resourceList(group);
}

function groupOf(group: string): JsonObject {
  const version = { groupVersion: `${group}/v1`, version: 'v1' };
  return { name: group, versions: [version], preferredVersion: version };
}

function resourceList(group: string): JsonObject {
  const stored = resources.filter((resource) => resource.group === group);
  const answered = reviews.filter((review) => review.group === group);
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version: 'v1' }),
    resources: [
      ...stored.flatMap(({ plural, singular, kind, namespaced, shortNames, subresources }) => [
        { name: plural, singularName: singular, namespaced, kind, verbs: VERBS, ...(shortNames && { shortNames }) },
        ...subresources.map((subresource) => ({
          name: `${plural}/${subresource}`,
          singularName: '',
          namespaced,
          kind,
          verbs: ['get', 'patch', 'update'],
          ...SUBRESOURCE_KINDS[`${plural}/${subresource}`],
        })),
      ]),
      ...answered.map(({ plural, singular, kind }) => ({
        name: plural,
        singularName: singular,
        namespaced: false,
        kind,
        verbs: ['create'],
      })),
    ],
  };
}
