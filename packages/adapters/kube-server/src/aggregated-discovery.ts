import { type JsonObject, asList, asObject, asText } from '@kubus/kube-objects';
import type { Answer } from './api.ts';
import { discover } from './discovery.ts';
import type { RequestInfo } from './request-info.ts';

/**
 * All groups with their versions and resources in one answer (KEP-3352), if the client prefers that; undefined: it does not, or the
 * path has none. The content is that of ordinary discovery.
 *
 * @param accept the header.
 */
export function aggregatedDiscovery(info: RequestInfo, accept: string): Omit<Answer, 'code'> | undefined {
  if (info.path !== '/api' && info.path !== '/apis') return undefined;
  const [first = ''] = accept.split(',');
  const [type = '', ...parameters] = first.split(';').map((part) => part.trim());
  const version = ['v2', 'v2beta1'].find((one) => parameters.includes(`v=${one}`));
  const wanted = parameters.includes('g=apidiscovery.k8s.io') && parameters.includes('as=APIGroupDiscoveryList');
  if (type !== 'application/json' || version === undefined || !wanted) return undefined;
  const read = (path: string) => discover({ ...info, path }) ?? {};
  const items =
    info.path === '/api' ? [coreGroup(read)] : asList(read('/apis')['groups']).map((one) => group(one, read));
  return {
    body: { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items },
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
  };
}

type Read = (path: string) => JsonObject;

function coreGroup(read: Read): JsonObject {
  return { metadata: {}, versions: [versionOf('v1', read('/api/v1'))] };
}

function group(listed: unknown, read: Read): JsonObject {
  const { name, versions } = asObject(listed as JsonObject);
  const of = asText(name);
  return {
    metadata: { name: of },
    versions: asList(versions).map((one) => {
      const version = asText(asObject(one)['version']);
      return versionOf(version, read(`/apis/${of}/${version}`));
    }),
  };
}

function versionOf(version: string, { resources }: JsonObject): JsonObject {
  const listed = asList(resources).map(asObject);
  // Empty as in ordinary discovery: those of the version itself.
  const kindOf = (one: JsonObject) => ({
    group: asText(one['group']),
    version: asText(one['version']),
    kind: asText(one['kind']),
  });
  const named = (one: JsonObject) => asText(one['name']).split('/');
  return {
    version,
    freshness: 'Current',
    resources: listed
      .filter((one) => named(one).length === 1)
      .map((one) => {
        const [resource = ''] = named(one);
        const below = listed.filter((other) => named(other).length === 2 && named(other)[0] === resource);
        return {
          resource,
          responseKind: kindOf(one),
          scope: one['namespaced'] === true ? 'Namespaced' : 'Cluster',
          singularResource: asText(one['singularName']),
          verbs: asList(one['verbs']),
          ...(one['shortNames'] !== undefined && { shortNames: one['shortNames'] }),
          ...(one['categories'] !== undefined && { categories: one['categories'] }),
          ...(below.length > 0 && {
            subresources: below.map((other) => ({
              subresource: named(other)[1] ?? '',
              responseKind: kindOf(other),
              verbs: asList(other['verbs']),
            })),
          }),
        };
      }),
  };
}
