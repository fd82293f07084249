import { apiVersionOf, type JsonObject, resources, reviews, usageResources } from '@kubus/kube-objects';
import type { RequestInfo } from './request-info.ts';

/** The version that the server reports. */
const SERVER_VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.2+kubus',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux/amd64',
};

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const kinds = [...resources, ...reviews, ...usageResources];

/** Subresources that are asked with an object of another kind. */
const SUBRESOURCE_KINDS: Readonly<Record<string, JsonObject>> = {
  'pods/eviction': { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
  'pods/binding': { kind: 'Binding', verbs: ['create'] },
  'pods/log': { kind: 'Pod', verbs: ['get'] },
  'nodes/proxy': { kind: 'NodeProxyOptions', verbs: ['get'] },
  'serviceaccounts/token': {
    kind: 'TokenRequest',
    group: 'authentication.k8s.io',
    version: 'v1',
    verbs: ['create'],
  },
};

/** The response to a request that is not about objects; undefined: no such path. Source: API concepts, "Discovery". */
export function discover({ path }: RequestInfo): JsonObject | undefined {
  const groups = [...new Set(kinds.map(({ group }) => group))].filter((group) => group !== '');
  // The client for Python ends the path so.
  if (path === '/version' || path === '/version/') return SERVER_VERSION;
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/api/v1') return resourceList('', 'v1');
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupOf) };
  const [, group = '', version] = /^\/apis\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
  if (!groups.includes(group)) return undefined;
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(group) };
  return versionsOf(group).includes(version) ? resourceList(group, version) : undefined;
}

function groupOf(group: string): JsonObject {
  const versions = versionsOf(group).map((version) => ({ groupVersion: apiVersionOf({ group, version }), version }));
  const [preferredVersion = {}] = versions;
  return { name: group, versions, preferredVersion };
}

/** The one that clients are to prefer first. */
function versionsOf(group: string): string[] {
  const those = kinds.filter((one) => one.group === group);
  return [...new Set(those.map(({ version }) => version))].sort((a, b) => a.length - b.length);
}

function resourceList(group: string, version: string): JsonObject {
  const isOfIt = (one: { group: string; version: string }) => one.group === group && one.version === version;
  const stored = resources.filter(isOfIt);
  const answered = reviews.filter(isOfIt);
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: [
      ...stored.flatMap(
        ({ plural, singular, kind, namespaced, shortNames, categories, subresources, deletedSingly }) => [
          {
            name: plural,
            singularName: singular,
            namespaced,
            kind,
            verbs: deletedSingly === true ? VERBS.filter((verb) => verb !== 'deletecollection') : VERBS,
            ...(shortNames && { shortNames }),
            ...(categories && { categories }),
          },
          ...subresources.map((subresource) => ({
            name: `${plural}/${subresource}`,
            singularName: '',
            namespaced,
            kind,
            verbs: ['get', 'patch', 'update'],
            ...SUBRESOURCE_KINDS[`${plural}/${subresource}`],
          })),
        ],
      ),
      ...answered.map(({ plural, singular, kind, namespaced = false }) => ({
        name: plural,
        singularName: singular,
        namespaced,
        kind,
        verbs: ['create'],
      })),
      ...usageResources.filter(isOfIt).map(({ plural, kind, namespaced }) => ({
        ...{ name: plural, singularName: '', namespaced, kind, verbs: ['get', 'list'] },
      })),
    ],
  };
}
